internal import AnalysisCore
import Formatting
internal import HTTPTransfer
internal import System

/// The calls that need no token: they make or renew one.
struct AccountCalls: Sendable {
  let transport: Transport

  func register(email: String, password: Secret, name: String) async throws(CallFailure) -> Session {
    let body: JSONValue = [
      "email": .string(email), "password": .string(password.reveal()), "name": .string(name),
    ]
    return try await session(transport.endpoint.paths.register, body, mayBeRepeated: false, readsUser: true)
  }

  func login(email: String, password: Secret, readsUser: Bool) async throws(CallFailure) -> Session {
    let body: JSONValue = ["email": .string(email), "password": .string(password.reveal())]
    return try await session(transport.endpoint.paths.login, body, mayBeRepeated: true, readsUser: readsUser)
  }

  /// A refresh token may be good for one use only, so that the call is never repeated by itself.
  func refresh(_ token: Secret) async throws(CallFailure) -> Session {
    let body: JSONValue = .object([
      JSONValue.Member(name: transport.endpoint.fields.refreshToken, value: .string(token.reveal()))
    ])
    return try await session(transport.endpoint.paths.refresh, body, mayBeRepeated: false, readsUser: false)
  }

  private func session(
    _ path: String, _ body: JSONValue, mayBeRepeated: Bool, readsUser: Bool
  ) async throws(CallFailure) -> Session {
    let value = try await transport.call(
      .post, path, token: nil, body: body, mayBeRepeated: mayBeRepeated)
    return try transport.read { () throws(DecodingFailure) in
      try Session(
        FieldReader(value, path: ""), transport.endpoint.fields, receivedAt: transport.clock.now(),
        readsUser: readsUser)
    }
  }
}
