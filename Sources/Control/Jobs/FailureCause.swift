import Support

/// What jobs that failed have in common; what is nil does not matter.
public struct FailureCause: Sendable, Hashable, CustomStringConvertible {
  /// The class of failure, as it is stored.
  var failureClass: String
  /// The HTTP status; 0 for none.
  public var status: Int?
  /// The endpoint's code; empty for none.
  public var code: String?
  /// What the message has before its first digit, at most 100 characters: numbers in it differ from job to job.
  var messageStart: String?

  /// A cause with its parts.
  public init(_ failureClass: String, status: Int? = nil, code: String? = nil, messageStart: String? = nil) {
    self.failureClass = failureClass
    self.status = status
    self.code = code
    self.messageStart = messageStart
  }

  /// Reads `server`, `server 500`, `server SERVER_ERROR` or `server 500 SERVER_ERROR`; nil for anything else.
  public init?(_ text: String) {
    var words = text.split(separator: " ").map(String.init)
    guard let first = words.first, FailureClass(rawValue: first) != nil else { return nil }
    words.removeFirst()
    var status: Int?
    if let number = words.first.flatMap({ Int($0) }), (100...599).contains(number) {
      status = number
      words.removeFirst()
    }
    self.init(first, status: status, code: words.isEmpty ? nil : words.joined(separator: " "))
  }

  /// The class, the status and the code, as `init(_:)` reads them.
  public var description: String {
    let number = status.flatMap { $0 == 0 ? nil : String($0) }
    let word = code.flatMap { $0.isEmpty ? nil : $0 }
    return [failureClass, number, word].compactMap { $0 }.joined(separator: " ")
  }
}
