internal import HTTPServing
internal import Images
internal import PostgreSQL
internal import Queue
internal import Support

extension Gateway {
  /// How an app's session is renewed, and how a user sees and ends the sessions of all their apps.
  var sessionRoutes: [HTTPRoute] {
    [
      HTTPRoute(.post, "/api/refresh-token", bodyUpTo: 4096) { request in
        await self.answered { try await self.renew(request) }
      },
      HTTPRoute(.get, "/api/sessions") { request in
        await self.answer(request) { caller in
          .json(
            200, ["sessions": .array(try await SessionCalls.list(caller.token).run(on: self.database))])
        }
      },
      HTTPRoute(.delete, "/api/sessions") { request in
        await self.answer(request) { caller in
          let count = try await SessionCalls.end(nil, caller.token).run(on: self.database)
          return .json(200, ["message": "All other sessions have ended.", "ended": .count(count)])
        }
      },
      HTTPRoute(.delete, "/api/sessions/*") { request in
        await self.answer(request) { caller in
          guard let number = request.parameters.first.flatMap({ Int32($0) }),
            try await SessionCalls.end(number, caller.token).run(on: self.database) > 0
          else { throw APIFailure.noSession }
          return .json(200, ["message": "The session has ended."])
        }
      },
    ]
  }

  /// Begins a session by a code: of the user who is named, where one is. What does not count, and why, is not said.
  func beginSession(_ text: String, name: String?, device: String?) async throws -> HTTPAnswer {
    guard let code = LoginCode(text), name?.contains("\0") != true else { throw APIFailure.wrongCredentials }
    let (access, refresh) = (try UserToken(shard: code.shard), try RefreshToken(shard: code.shard))
    let number = try await presence.call {
      try await SessionCalls.begin(code, name: name, device: device, access, refresh).run(on: self.database)
    }
    guard number != nil else { throw APIFailure.wrongCredentials }
    return try await session(access, refresh, "Login successful")
  }

  private func renew(_ request: HTTPRequest) async throws -> HTTPAnswer {
    guard !isDraining else { throw APIFailure.stopping }
    guard let text = (try? JSONReader.read(request.body))?["refreshToken"]?.text else {
      throw APIFailure.missingBody
    }
    guard let used = RefreshToken(text) else { throw APIFailure.sessionEnded }
    let (access, next) = (try UserToken(shard: used.shard), try used.next())
    let number = try await presence.call {
      try await SessionCalls.renew(used, access, next).run(on: self.database)
    }
    guard number != nil else { throw APIFailure.sessionEnded }
    return try await session(access, next, "Token refreshed")
  }

  private func session(
    _ access: UserToken, _ refresh: RefreshToken, _ message: String
  ) async throws -> HTTPAnswer {
    guard let token = AppToken(text: access.text) else { throw APIFailure.internalFailure }
    let user = try await presence.call { try await self.users.fresh(token) }
    return .json(
      200,
      [
        "message": .string(message), "token": .string(access.text), "accessToken": .string(access.text),
        "refreshToken": .string(refresh.text), "tokenExpiration": "15m", "user": AnswerShapes.profile(user),
      ])
  }
}

/// By what an app gets its session's next access token: a part that stays and a part that changes with each use, so that
/// one which comes a second time is known for what it is. Written as a token with a second random part.
struct RefreshToken {
  private let family: UserToken
  private let turn: UserToken

  /// The first one of a new session.
  init(shard: Int16) throws(ImageEncryptionError) {
    family = try UserToken(shard: shard)
    turn = try UserToken(shard: shard)
  }

  /// One that an app gave; nil for a text that is none.
  init?(_ text: String) {
    guard text.utf8.count <= 128, let dot = text.lastIndex(of: "."),
      let family = UserToken(String(text[..<dot])),
      let turn = UserToken("\(UserToken.prefix)\(family.shard)\(text[dot...])")
    else { return nil }
    self.family = family
    self.turn = turn
  }

  private init(family: UserToken, turn: UserToken) {
    self.family = family
    self.turn = turn
  }

  /// The one that comes after it.
  func next() throws(ImageEncryptionError) -> RefreshToken {
    RefreshToken(family: family, turn: try UserToken(shard: shard))
  }

  var shard: Int16 { family.shard }
  /// The whole token, as it is given to the app.
  var text: String { family.text + (turn.text.lastIndex(of: ".").map { turn.text[$0...] } ?? "") }

  fileprivate var hashes: (family: [UInt8], turn: [UInt8]) { (family.hash, turn.hash) }
}

extension RefreshToken: Redacted {}

/// The calls of the database for sessions.
private enum SessionCalls {
  static func begin(
    _ code: LoginCode, name: String?, device: String?, _ access: UserToken, _ refresh: RefreshToken
  ) -> Statement<Int?> {
    // As much of it as can be shown: a phone's name is no reason to be refused.
    let label = device.map { printable($0, limit: 100) }.flatMap { $0.isEmpty ? nil : $0 }
    return Statement(
      SQLFunction("gateway_begin_session", 7),
      [
        .int16(code.shard), .bytes(code.hash), .text(name), .text(label), .bytes(access.hash),
        .bytes(refresh.hashes.family), .bytes(refresh.hashes.turn),
      ], as: Int?.self, while: "beginning a session")
  }

  static func renew(_ used: RefreshToken, _ access: UserToken, _ next: RefreshToken) -> Statement<Int?> {
    Statement(
      SQLFunction("gateway_renew_session", 5),
      [
        .int16(used.shard), .bytes(used.hashes.family), .bytes(used.hashes.turn), .bytes(access.hash),
        .bytes(next.hashes.turn),
      ], as: Int?.self, while: "renewing a session")
  }

  private struct Session: Decodable {
    let session: Int
    let label: String?
    let isOwn: Bool
    let beganAt: Double
    let lastUsedOn: String?
    let endsAt: Double
  }

  static func list(_ token: AppToken) -> Statement<[JSONValue]> {
    Statement(
      SQLFunction("gateway_sessions", 2), [.int16(token.shard), .bytes(token.hash)], as: [Session].self,
      while: "asking for sessions"
    ) { sessions in
      sessions.map { session in
        [
          "id": .string(String(session.session)), "device": .text(session.label),
          "current": .bool(session.isOwn),
          "began_at": .string(AnswerShapes.moment(session.beganAt)),
          "last_used_on": .text(session.lastUsedOn),
          "ends_at": .string(AnswerShapes.moment(session.endsAt)),
        ]
      }
    }
  }

  /// Ends a session, or all but the caller's own; answers how many.
  static func end(_ session: Int32?, _ token: AppToken) -> Statement<Int> {
    Statement(
      SQLFunction("gateway_end_sessions", 3),
      [.int16(token.shard), .bytes(token.hash), .int32(session)], as: Int.self, while: "ending sessions")
  }
}
