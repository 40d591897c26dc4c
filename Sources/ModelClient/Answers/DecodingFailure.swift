import Formatting

/// Why an answer was not accepted. It is accepted whole or not at all.
public struct DecodingFailure: Error, Equatable, Sendable, CustomStringConvertible {
  /// Where in the answer, for instance `conditions[0].confidence`; empty for the answer itself.
  public let path: String
  /// What is wrong, without any of the answer's content.
  public let problem: String

  init(_ path: String, _ problem: String) {
    self.path = path
    self.problem = problem
  }

  init(_ failure: JSONFailure) {
    self.init("", "is not JSON that can be used: it \(failure.reason.rawValue), at byte \(failure.offset)")
  }

  /// A sentence with place and problem.
  public var description: String {
    path.isEmpty ? "The answer \(problem)." : "The answer's \(path) \(problem)."
  }
}
