internal import EventLoop
internal import Images
internal import PostgreSQL
internal import Queue
internal import Support
internal import Synchronization

/// Whose tokens are, remembered for a few seconds: an app that asks again and again costs the database one question.
///
/// Only who is let in is decided by it. A token that is not valid is not remembered.
final class KnownUsers: Sendable {
  private struct Known {
    var user: AppUser
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
    if let known = known(token) { return known }
    return try await fresh(token)
  }

  /// The user of a token, as far as it is remembered.
  func known(_ token: AppToken) -> AppUser? {
    known.withLock { $0[token] }.flatMap { $0.until > EventLoop.now ? $0.user : nil }
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

  /// What the user has used of the month, as a submit has just answered it.
  func note(used: Int, of token: AppToken) {
    known.withLock { $0[token]?.user.used = used }
  }

  /// What was remembered is not so any more.
  func forget(_ token: AppToken) {
    known.withLock { _ = $0.removeValue(forKey: token) }
  }
}

/// A user's token, as an app shows it with each request. What is kept of it is its hash alone.
struct AppToken: Hashable, Sendable {
  let shard: Int16
  /// The SHA-256 of the whole text.
  let hash: [UInt8]

  /// Reads the value of an `Authorization` header; nil for anything but a user's token.
  init?(authorization: String?) {
    guard let authorization else { return nil }
    let parts = authorization.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    self.init(text: String(parts[1].drop { $0 == " " }))
  }

  /// Reads a token; nil for anything else.
  init?(text: String) {
    guard let token = UserToken(text) else { return nil }
    shard = token.shard
    hash = token.hash
  }
}

/// The user of a token, as the gateway sees them.
struct AppUser: Sendable, Equatable, RenamedColumns {
  static let columns = ["id": "userID", "reference": "user", "plan": "planName"]

  /// By number, which stays when they are renamed.
  let id: Int64
  /// What the queue calls them, by which encrypted images are bound to them.
  let reference: String
  let name: String?
  let email: String?
  let plan: String?
  /// nil where there is none.
  let limit: Int?
  var used: Int
  /// When the running month began, in seconds since 1970.
  let monthStart: Double
  /// What the endpoint's account called their plan, where it was told.
  let subscription: String?

  /// Asks whose a token is; nil where it is not valid.
  static func statement(_ token: AppToken) -> Statement<AppUser?> {
    Statement(
      SQLFunction("gateway_user", 2), [.int16(token.shard), .bytes(token.hash)], as: AppUser?.self,
      while: "asking whose a token is")
  }
}

/// How many of something each user has open at once.
final class OpenByUser: Sendable {
  /// One of them; it is given back when it is let go.
  final class Place: Sendable {
    private let all: OpenByUser
    private let user: UserKey

    fileprivate init(_ all: OpenByUser, _ user: UserKey) {
      (self.all, self.user) = (all, user)
    }

    deinit { all.giveBack(user) }
  }

  private struct Open {
    var byUser: [UserKey: Int] = [:]
    var count = 0
  }

  private let most: Int
  private let mostInAll: Int
  private let open = Mutex(Open())

  /// - Parameter all: How many all users together may have open.
  init(atMost most: Int, inAll all: Int = .max) {
    (self.most, mostInAll) = (most, all)
  }

  /// Takes one more; nil where the user, or all, have as many as they may.
  func take(_ user: UserKey) -> Place? {
    let isTaken = open.withLock { open in
      guard open.count < mostInAll, open.byUser[user, default: 0] < most else { return false }
      open.byUser[user, default: 0] += 1
      open.count += 1
      return true
    }
    return isTaken ? Place(self, user) : nil
  }

  private func giveBack(_ user: UserKey) {
    open.withLock { open in
      let left = (open.byUser[user] ?? 1) - 1
      open.byUser[user] = left > 0 ? left : nil
      open.count -= 1
    }
  }
}
