internal import EventLoop
internal import HTTPServing
internal import Queue
internal import Support

extension Gateway {
  /// What a request costs of what its user may ask for in a minute.
  enum Share {
    static let photo = 1.0
    static let question = 0.1
  }

  /// Who asks: a token with its user.
  struct Caller: Sendable {
    let token: AppToken
    let user: AppUser

    var key: UserKey { UserKey(shard: token.shard, id: user.id) }
  }

  /// Answers a request of a user, who is let in first.
  func answer(
    _ request: HTTPRequest, _ body: @escaping @Sendable (Caller) async throws -> HTTPAnswer
  ) async -> HTTPAnswer {
    await answered {
      _ = try expectToken(request)
      return try await presence.call {
        let caller = try await self.admitted(request, share: Share.question)
        return self.limited(try await body(caller), caller)
      }
    }
  }

  /// A route for what a user sends by POST.
  func posted(
    _ path: String, bodyUpTo bytes: Int,
    _ body: @escaping @Sendable (HTTPRequest, Caller) async throws -> HTTPAnswer
  ) -> HTTPRoute {
    sent(.post, path, bodyUpTo: bytes, body)
  }

  /// A route for what a user sends: who it is, is asked before the body is kept.
  func sent(
    _ method: HTTPRequest.Method, _ path: String, bodyUpTo bytes: Int,
    _ body: @escaping @Sendable (HTTPRequest, Caller) async throws -> HTTPAnswer
  ) -> HTTPRoute {
    HTTPRoute(
      method, path, bodyUpTo: bytes,
      admit: { request in
        do {
          try self.expectToken(request)
          _ = try await self.presence.call { try await self.admitted(request, share: Share.question) }
          return nil
        } catch {
          return self.failure(error).answer
        }
      },
      { request in
        await self.answered {
          try await self.presence.call {
            let caller = try await self.caller(request)
            return self.limited(try await body(request, caller), caller)
          }
        }
      })
  }

  /// An answer with what is left of a user's month, as far as that is known without asking.
  func limited(_ answer: HTTPAnswer, _ caller: Caller) -> HTTPAnswer {
    var answer = answer
    let user = users.known(caller.token) ?? caller.user
    answer.headers += LimitHeaders.of(used: user.used, limit: user.limit)
    return answer
  }

  /// Answers what the closure does, or why it does not.
  func answered(_ body: () async throws -> HTTPAnswer) async -> HTTPAnswer {
    do {
      return try await body()
    } catch {
      return failure(error).answer
    }
  }

  /// What a user reads and the audit records; nil where there was nothing to be read, and no entry was made.
  ///
  /// - Throws: `APIFailure` where they have read too much, or what the closure throws.
  func recorded<Value>(_ caller: Caller, _ read: () async throws -> Value?) async throws -> Value? {
    if let wait = readings.take(1, caller.key, at: EventLoop.now) { throw APIFailure.tooFast(wait) }
    let value = try await read()
    if value == nil { readings.giveBack(1, caller.key) }
    return value
  }

  /// The caller of a request, of whose minute a share is taken.
  ///
  /// - Throws: `APIFailure`, or `JobQueueError`.
  func admitted(_ request: HTTPRequest, share: Double) async throws -> Caller {
    guard !isDraining else { throw APIFailure.stopping }
    let caller = try await caller(request)
    if let wait = rate.take(share, caller.key, at: EventLoop.now) { throw APIFailure.tooFast(wait) }
    return caller
  }

  /// The caller of a request.
  ///
  /// - Throws: `APIFailure.unauthorized`, or `JobQueueError`.
  func caller(_ request: HTTPRequest) async throws -> Caller {
    let token = try expectToken(request)
    return Caller(token: token, user: try await users.user(of: token))
  }

  /// The token of a request, valid or not: without one nothing is waited for.
  @discardableResult
  func expectToken(_ request: HTTPRequest) throws(APIFailure) -> AppToken {
    guard let token = AppToken(authorization: request.headers["authorization"]) else {
      throw APIFailure.unauthorized
    }
    return token
  }

  /// What an error means to an app.
  func failure(_ error: any Error) -> APIFailure {
    switch error {
    case let failure as APIFailure: return failure
    case let error as JobQueueError:
      let failure = APIFailure(error)
      if failure.status >= 500 {
        meters.databaseErrors.add()
        log.warning("A request of an app failed", ["error": .string(error.description)])
      }
      return failure
    // The app has gone, or the server stops.
    case is CancellationError: return .stopping
    default:
      log.error("A request of an app failed", ["error": .string("\(error)")])
      return .internalFailure
    }
  }
}
