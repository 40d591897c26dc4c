/// A notice or warning that the server sent beside its answers.
public struct Notice: Sendable, Equatable {
  /// `NOTICE`, `WARNING` and so on, in English whatever the server's language.
  public let severity: String
  /// The five-character code, `00000` for a plain notice.
  public let sqlState: String
  /// The text, as the server or `RAISE` worded it.
  public let message: String
}
