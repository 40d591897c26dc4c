/// What a registration brings. The account is made then, so that nothing in the answer can be a failure.
public struct Registration: Sendable, Equatable {
  /// The account's first token; nil where the answer has none that can be used: then it logs in.
  public var session: Session?
  /// The account; nil where the answer does not describe it.
  public var user: BackendUser?
}
