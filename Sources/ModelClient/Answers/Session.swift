import Formatting
public import System

/// What a login or a refresh brings.
public struct Session: Sendable, Equatable {
  /// The token for authenticated calls.
  public var token: Secret
  /// The token by which the next one may be had; nil where the deployment has none.
  public var refreshToken: Secret?
  /// The account; nil after a refresh, and where the answer does not describe it.
  public var user: BackendUser?
  /// When the token ends by this machine's clock, in seconds since 1970; nil when nothing says so.
  public var expiresAt: Double?

  /// Reads a session.
  ///
  /// - Parameter receivedAt: The present time.
  init(_ fields: FieldReader, _ names: Endpoint.Fields, receivedAt: Double) throws(DecodingFailure) {
    var token: String?
    for name in names.token where token == nil { token = try Self.token(fields, name) }
    guard let token else { throw fields.missing(names.token.first ?? "token") }
    self.token = Secret(token)
    // Without one that can be sent, the next token comes by a login.
    refreshToken = try? Self.token(fields, names.refreshToken).map { Secret($0) }
    expiresAt = TokenExpiry.of(token, answer: fields.object, receivedAt: receivedAt)
    user = BackendUser(in: fields)
  }

  /// A token goes into a header, so it must fit there: visible ASCII.
  private static func token(_ fields: FieldReader, _ name: String) throws(DecodingFailure) -> String? {
    guard let value = fields[name] else { return nil }
    guard let text = value.text, (1...16_384).contains(text.utf8.count),
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      throw DecodingFailure(fields.place(name), "is not a token")
    }
    return text
  }
}
