import TestSupport
import Testing

@testable import Support

/// One row of the matrix: what the backend does, named as in the list of results.
struct Row: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let answer: @Sendable (Backend.Call) throws -> Backend.Reply

  init(_ name: String, _ answer: @escaping @Sendable (Backend.Call) throws -> Backend.Reply) {
    testDescription = name
    self.answer = answer
  }

  /// A row whose answer is always the same.
  init(_ name: String, _ status: Int, _ body: String = "", headers: [String] = []) {
    self.init(name) { _ in Backend.Reply(status: status, body: body, headers: headers) }
  }
}
