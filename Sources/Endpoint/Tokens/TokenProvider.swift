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
