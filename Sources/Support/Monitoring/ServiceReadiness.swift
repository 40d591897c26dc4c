/// Whether a program can do its work now, with the state of all that it depends on.
public struct ServiceReadiness: Sendable, Equatable {
  /// Whether it can.
  public let isReady: Bool
  /// What it says of each dependency.
  public let facts: JSONValue

  /// An answer with its facts, an object.
  public init(isReady: Bool, _ facts: [JSONValue.Member]) {
    self.isReady = isReady
    self.facts = .object([JSONValue.Member(name: "ready", value: .bool(isReady))] + facts)
  }
}
