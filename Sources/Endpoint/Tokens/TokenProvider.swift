internal import Support

/// Keeps the service account's token: logs in, refreshes ahead of time or when the token is refused, and does each once
/// for all callers that wait, however many they are. What it decides by is ``TokenRenewals``.
actor TokenProvider {
  typealias Borrowed = TokenRenewals.Borrowed

  private struct Waiter {
    /// The generation that was refused; nil when the caller asks for the first time.
    let refused: Int?
    let continuation: CheckedContinuation<Result<Borrowed, CallFailure>, Never>
  }

  private let credentials: @Sendable () throws -> Credentials
  private let accounts: AccountCalls
  private let clock: WallClock
  private var renewals = TokenRenewals()
  private var waiters: [Int: Waiter] = [:]
  private var nextWaiter = 0

  init(
    accounts: AccountCalls, clock: WallClock, credentials: @escaping @Sendable () throws -> Credentials
  ) {
    self.accounts = accounts
    self.clock = clock
    self.credentials = credentials
  }

  /// The number of the present token, counted from 1; 0 before the first login.
  var generation: Int { renewals.generation }

  /// The present token, or a new one when it is about to end.
  func token() async throws(CallFailure) -> Borrowed {
    try await token(refused: nil)
  }

  /// A token newer than the one that was refused.
  func token(after refused: Int) async throws(CallFailure) -> Borrowed {
    try await token(refused: refused)
  }

  /// Says that a token was refused although it was new.
  func newTokenWasRefused(_ generation: Int) {
    renewals.newTokenWasRefused(generation, at: clock.monotonic())
  }

  // MARK: One renewal for all

  private func token(refused: Int?) async throws(CallFailure) -> Borrowed {
    switch renewals.ask(after: refused, now: clock.now(), at: clock.monotonic()) {
    case .use(let borrowed): return borrowed
    case .fail(let failure): throw failure
    case .wait: break
    case .renew(let byLogin):
      // A task of its own: the renewal goes on for the others when the caller that began it is cancelled.
      Task { await self.renew(byLogin: byLogin) }
    }
    return try await waitForRenewal(refused: refused).get()
  }

  private func waitForRenewal(refused: Int?) async -> Result<Borrowed, CallFailure> {
    nextWaiter += 1
    let number = nextWaiter
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if Task.isCancelled {
          continuation.resume(returning: .failure(Self.cancelled))
        } else {
          waiters[number] = Waiter(refused: refused, continuation: continuation)
        }
      }
    } onCancel: {
      Task { await self.leave(number) }
    }
  }

  private func leave(_ number: Int) {
    waiters.removeValue(forKey: number)?.continuation.resume(returning: .failure(Self.cancelled))
  }

  private func renew(byLogin: Bool) async {
    let result = await newSession(byLogin: byLogin)
    renewals.renewed(result, now: clock.now(), at: clock.monotonic())
    let waiting = waiters
    waiters = [:]
    for waiter in waiting.values {
      waiter.continuation.resume(
        returning: renewals.waited(result, after: waiter.refused, now: clock.now()))
    }
  }

  private func newSession(byLogin: Bool) async -> Result<Session, CallFailure> {
    if !byLogin, let refreshToken = renewals.refreshToken {
      do throws(CallFailure) {
        return .success(try await accounts.refresh(refreshToken))
      } catch {
        // A refusal may mean that only the refresh token has ended; when nobody answers, login cannot help.
        if error.failureClass == .notSent || error.failureClass == .overload { return .failure(error) }
      }
    }
    let credentials: Credentials
    do {
      credentials = try self.credentials()
    } catch {
      // The reader's errors name the file and never its content.
      return .failure(
        CallFailure(.credentials, "The credentials could not be read: \(error)", consumesAttempt: false))
    }
    do throws(CallFailure) {
      return .success(
        try await accounts.login(email: credentials.email, password: credentials.password))
    } catch {
      return .failure(error)
    }
  }

  private static var cancelled: CallFailure {
    var failure = CallFailure(.notSent, "The call was cancelled before it was sent.", consumesAttempt: false)
    failure.wasCancelled = true
    return failure
  }
}

/// The pause after a login that failed, or that brought a token which was refused at once: each doubles
/// the time until the next login, so that a wrong password is tried a few times a minute and not thousands.
struct LoginPause {
  static let first: Duration = .seconds(1)
  static let longest: Duration = .seconds(60)

  private var failure: CallFailure?
  private var until: ContinuousClock.Instant?
  private var count = 0
  private var lastRefused = 0

  /// What a caller gets who asks within the pause; nil when there is none.
  func failure(at now: ContinuousClock.Instant) -> CallFailure? {
    guard let until, now < until, var failure else { return nil }
    failure.retryAfter = until - now
    return failure
  }

  /// A new token was refused; counted once for each token.
  mutating func tokenRefused(_ generation: Int, at now: ContinuousClock.Instant) {
    guard generation > lastRefused else { return }
    lastRefused = generation
    begin(
      CallFailure(
        .credentials, "The endpoint refuses the token that it gave the service account.",
        consumesAttempt: false),
      at: now)
  }

  /// Ends the pause. The doubling is forgotten only after a quiet time, since a refusal comes after a login
  /// that succeeds.
  mutating func loginSucceeded(at now: ContinuousClock.Instant) {
    if let until, now < until + Self.longest { return }
    count = 0
    failure = nil
    until = nil
  }

  /// Begins the pause after a failure.
  mutating func begin(_ failure: CallFailure, at now: ContinuousClock.Instant) {
    self.failure = failure
    var length = Self.first
    for _ in 0..<min(count, 10) where length < Self.longest { length *= 2 }
    count += 1
    until = now + min(length, Self.longest)
  }
}

/// When a token ends, as far as it or the answer that brought it says.
enum TokenExpiry {
  /// The end by this machine's clock, in seconds since 1970; nil when nothing says so.
  ///
  /// A JWT that says when it was issued gives a length of life, which holds even where the endpoint's clock
  /// is not ours. A new token that has ended already has not: one of the clocks is wrong, and taken at its
  /// word it would have to be renewed for every call.
  static func of(_ token: String, answer: JSONPart, receivedAt: Double) -> Double? {
    stated(token, answer: answer, receivedAt: receivedAt).flatMap { $0 > receivedAt ? $0 : nil }
  }

  private static func stated(_ token: String, answer: JSONPart, receivedAt: Double) -> Double? {
    if let claims = claims(token), let end = time(claims["exp"]) {
      if let issued = time(claims["iat"]), issued <= end { return receivedAt + (end - issued) }
      return end
    }
    if let seconds = (answer["expiresIn"] ?? answer["expires_in"])?.number, seconds >= 0 {
      return receivedAt + seconds
    }
    return (answer["expiresAt"] ?? answer["expires_at"]).flatMap(AnswerTime.read)
  }

  private static func time(_ value: JSONPart?) -> Double? {
    guard let value, value.number != nil else { return nil }
    return AnswerTime.read(value)
  }

  /// The claims of a JWT, unverified: they only tell when to ask for the next one.
  private static func claims(_ token: String) -> JSONPart? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let bytes = base64URL(parts[1]) else { return nil }
    return try? JSONReader.read(bytes)
  }

  /// Decodes base64 with the alphabet for addresses (RFC 4648), padded or not.
  static func base64URL(_ text: Substring) -> [UInt8]? {
    var bytes: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    for character in text.utf8 where character != UInt8(ascii: "=") {
      guard let value = value(character) else { return nil }
      bits = bits << 6 | value
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return count < 6 ? bytes : nil
  }

  private static func value(_ character: UInt8) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"), UInt8(ascii: "+"): 62
    case UInt8(ascii: "_"), UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
