extension Endpoint {
  /// How long calls may take from their start to the answer's last byte.
  public struct Deadlines: Sendable {
    /// An analysis; the backend's own limit is 120 s.
    public var analyze: Duration = .seconds(120)
    /// Everything about accounts and saved analyses; the backend's own app waits 30 s.
    public var account: Duration = .seconds(30)
    /// The question whether the backend is up.
    public var health: Duration = .seconds(5)

    /// The defaults above.
    public init() {}
  }
}
