internal import AnalysisCore
import Formatting
internal import HTTPTransfer
internal import System

/// The calls that need no token: they make or renew one.
struct AccountCalls: Sendable {
  let transport: Transport

  func register(email: String, password: Secret, name: String) async throws(CallFailure) -> Registration {
    let body: JSONValue = [
      "email": .string(email), "password": .string(password.reveal()), "name": .string(name),
    ]
    let answer = try await transport.call(
      .post, transport.endpoint.paths.register, token: nil, body: body, mayBeRepeated: false)
    let fields = try? FieldReader(answer, path: "")
    return Registration(session: try? session(answer), user: fields.flatMap(BackendUser.init(in:)))
  }

  func login(email: String, password: Secret) async throws(CallFailure) -> Session {
    let body: JSONValue = ["email": .string(email), "password": .string(password.reveal())]
    return try session(
      try await transport.call(
        .post, transport.endpoint.paths.login, token: nil, body: body, mayBeRepeated: true))
  }

  /// A refresh token may be good for one use only, so that the call is never repeated by itself.
  func refresh(_ token: Secret) async throws(CallFailure) -> Session {
    let body: JSONValue = .object([
      JSONValue.Member(name: transport.endpoint.fields.refreshToken, value: .string(token.reveal()))
    ])
    return try session(
      try await transport.call(
        .post, transport.endpoint.paths.refresh, token: nil, body: body, mayBeRepeated: false))
  }

  private func session(_ answer: JSONValue) throws(CallFailure) -> Session {
    try transport.read { () throws(DecodingFailure) in
      try Session(
        FieldReader(answer, path: ""), transport.endpoint.fields, receivedAt: transport.clock.now())
    }
  }
}
