internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Synchronization

/// Whose tokens are, remembered for a few seconds: an app that asks again and again costs the database one question.
///
/// Only who is let in is decided by it. A token that is not valid is not remembered.
final class KnownUsers: Sendable {
  private struct Known {
    let user: AppUser
    let until: ContinuousClock.Instant
  }

  /// How many are remembered at most.
  private static let most = 50_000

  private let database: ConnectionPool
  private let life: Duration
  private let known = Mutex<[AppToken: Known]>([:])

  init(_ database: ConnectionPool, life: Duration) {
    self.database = database
    self.life = life
  }

  /// The user of a token.
  ///
  /// - Throws: `APIFailure.unauthorized`, or `JobQueueError`.
  func user(of token: AppToken) async throws -> AppUser {
    let now = EventLoop.now
    if let known = known.withLock({ $0[token] }), known.until > now { return known.user }
    return try await fresh(token)
  }

  /// The user of a token, as the database has them now.
  ///
  /// - Throws: `APIFailure.unauthorized`, or `JobQueueError`.
  func fresh(_ token: AppToken) async throws -> AppUser {
    guard let user = try await AppUser.statement(token).run(on: database) else {
      forget(token)
      throw APIFailure.unauthorized
    }
    let until = EventLoop.now + life
    known.withLock { known in
      if known.count >= Self.most { known = known.filter { $0.value.until > EventLoop.now } }
      if known.count >= Self.most { known = [:] }
      known[token] = Known(user: user, until: until)
    }
    return user
  }

  /// What was remembered is not so any more.
  func forget(_ token: AppToken) {
    known.withLock { _ = $0.removeValue(forKey: token) }
  }
}
