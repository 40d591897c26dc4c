internal import HTTPServing
internal import PostgreSQL
internal import Queue
internal import Support

extension Gateway {
  /// Who the user is: logging in and out, and their profile.
  var userRoutes: [HTTPRoute] {
    var routes = [
      HTTPRoute(.post, "/api/login", bodyUpTo: 4096) { request in
        await self.answered { try await self.logIn(request) }
      },
      posted("/api/logout", bodyUpTo: 4096) { _, caller in
        defer { self.users.forget(caller.token) }
        try await Self.logOut(caller.token).run(on: self.database)
        return .json(200, ["message": "Logged out"])
      },
      HTTPRoute(.get, "/api/user-profile") { request in
        await self.answer(request) { caller in try await self.profile(caller) }
      },
      sent(.put, "/api/update-profile", bodyUpTo: 16 << 10) { try await self.setProfile($0, $1) },
    ]
    for (path, message) in [
      ("/api/register", "Accounts are made by your clinic: ask it for a code."),
      ("/api/update-subscription", "Your plan is changed by your clinic: ask it."),
    ] {
      let refusal = APIFailure.notHere(message)
      routes.append(
        HTTPRoute(.post, path, bodyUpTo: 64 << 10, admit: { _ in refusal.answer }) { _ in refusal.answer })
    }
    return routes
  }

  /// An app that has its users log in has them give a code, also as the password, and is answered with a session; or a
  /// token as the password, and is answered with the same token.
  private func logIn(_ request: HTTPRequest) async throws -> HTTPAnswer {
    guard !isDraining else { throw APIFailure.stopping }
    let body = try? JSONReader.read(request.body)
    let device = body?["device"]?.text
    if let code = body?["code"]?.text { return try await beginSession(code, name: nil, device: device) }
    guard let name = (body?["email"] ?? body?["username"])?.text, let password = body?["password"]?.text
    else {
      throw APIFailure.missingBody
    }
    guard let token = AppToken(text: password) else {
      return try await beginSession(password, name: name, device: device)
    }
    let user: AppUser
    do {
      // Asked anew: what is answered shows who the user is, and a token that was just revoked opens nothing.
      user = try await presence.call { try await self.users.fresh(token) }
    } catch let failure as APIFailure where failure.status == 401 {
      throw APIFailure.wrongCredentials
    }
    guard name == user.reference || name.lowercased() == user.email?.lowercased() else {
      throw APIFailure.wrongCredentials
    }
    return .json(
      200,
      [
        "message": "Login successful", "token": .string(password), "accessToken": .string(password),
        "user": AnswerShapes.profile(user),
      ])
  }

  private func profile(_ caller: Caller) async throws -> JSONValue {
    ["user": AnswerShapes.profile(try await users.fresh(caller.token))]
  }

  private static func logOut(_ token: AppToken) -> Statement<Void> {
    Statement(
      SQLFunction("gateway_log_out", 2), [.int16(token.shard), .bytes(token.hash)], while: "ending a token")
  }

  /// Changes name and e-mail address. An app sends both, also where it was shown the user's reference in place of one.
  private func setProfile(_ request: HTTPRequest, _ caller: Caller) async throws -> HTTPAnswer {
    guard let body = try? JSONReader.read(request.body), body.isObject else {
      throw APIFailure.missingBody
    }
    let user = try await users.fresh(caller.token)
    func given(_ name: String, _ known: String?) throws -> String? {
      guard let value = body[name]?.value, value != .null else { return nil }
      guard let text = value.text, !text.contains("\0") else { throw APIFailure.wrongProfile }
      return text == known ?? user.reference ? nil : text
    }
    let (name, email) = (try given("name", user.name), try given("email", user.email))
    if name != nil || email != nil {
      do throws(JobQueueError) {
        try await Statement(
          SQLFunction("gateway_set_profile", 4),
          [.int16(caller.token.shard), .bytes(caller.token.hash), .text(name), .text(email)],
          while: "changing a profile"
        ).run(on: database)
      } catch {
        guard error.code == .badRow else { throw error }
        throw APIFailure.wrongProfile
      }
    }
    return .json(200, try await profile(caller))
  }
}
