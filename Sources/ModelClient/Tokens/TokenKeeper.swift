internal import AnalysisCore
internal import Operations

/// Keeps the service account's token: logs in, refreshes ahead of time, and does each once for all callers
/// that wait, however many they are.
///
/// Tokens are numbered by a generation. Whoever meets a 401 says which generation failed, so that only the
/// first of many such callers causes a login, and the others get the token that it brought.
public actor TokenKeeper {
  /// A token and its number.
  struct Lent: Sendable {
    let token: Secret
    let generation: Int
  }

  private struct Held {
    let session: Session
    let obtainedAt: Double
    let generation: Int

    /// When the next token is asked for: when a tenth of the life is left, or a minute of a long one.
    var refreshAt: Double? {
      session.expiresAt.map { $0 - min(60, max(0, $0 - obtainedAt) / 10) }
    }
  }

  private let credentials: @Sendable () throws -> Credentials
  private let accounts: AccountCalls
  private let clock: WallClock
  private var held: Held?
  private var isRenewing = false
  private var waiters: [Int: CheckedContinuation<Result<Lent, CallFailure>, Never>] = [:]
  private var nextWaiter = 0
  private var pause = LoginPause()

  init(
    accounts: AccountCalls, clock: WallClock, credentials: @escaping @Sendable () throws -> Credentials
  ) {
    self.accounts = accounts
    self.clock = clock
    self.credentials = credentials
  }

  /// The number of the present token, counted from 1; 0 before the first login.
  public var generation: Int { held?.generation ?? 0 }

  /// The present token, or a new one when it is about to end.
  func token() async throws(CallFailure) -> Lent {
    if let held, held.refreshAt.map({ clock.now() < $0 }) ?? true {
      return Lent(token: held.session.token, generation: held.generation)
    }
    return try await renewed(byLogin: false)
  }

  /// A token newer than the one that was refused.
  func token(after refused: Int) async throws(CallFailure) -> Lent {
    if let held, held.generation > refused {
      return Lent(token: held.session.token, generation: held.generation)
    }
    return try await renewed(byLogin: true)
  }

  /// Says that a token was refused although it was new: the next login waits, since logging in works and
  /// helps nothing.
  func newTokenWasRefused(_ generation: Int) {
    guard let held, held.generation == generation else { return }
    pause.tokenRefused(generation, at: clock.monotonic())
  }

  // MARK: One renewal for all

  private func renewed(byLogin: Bool) async throws(CallFailure) -> Lent {
    if !isRenewing {
      if let failure = pause.failure(at: clock.monotonic()) { throw failure }
      isRenewing = true
      // A task of its own: the renewal goes on for the others when the caller that began it is cancelled.
      Task { await self.renew(byLogin: byLogin) }
    }
    return try await waitForRenewal().get()
  }

  private func waitForRenewal() async -> Result<Lent, CallFailure> {
    nextWaiter += 1
    let number = nextWaiter
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if Task.isCancelled {
          continuation.resume(returning: .failure(Self.cancelled))
        } else {
          waiters[number] = continuation
        }
      }
    } onCancel: {
      Task { await self.leave(number) }
    }
  }

  private func leave(_ number: Int) {
    waiters.removeValue(forKey: number)?.resume(returning: .failure(Self.cancelled))
  }

  private func renew(byLogin: Bool) async {
    let result = await newSession(byLogin: byLogin)
    let outcome: Result<Lent, CallFailure>
    switch result {
    case .success(let session):
      let next = Held(session: session, obtainedAt: clock.now(), generation: generation + 1)
      held = next
      pause.loginSucceeded(at: clock.monotonic())
      outcome = .success(Lent(token: session.token, generation: next.generation))
    case .failure(let failure):
      pause.loginFailed(failure, at: clock.monotonic())
      outcome = .failure(failure)
    }
    isRenewing = false
    let waiting = waiters
    waiters = [:]
    for continuation in waiting.values { continuation.resume(returning: outcome) }
  }

  private func newSession(byLogin: Bool) async -> Result<Session, CallFailure> {
    if !byLogin, let refreshToken = held?.session.refreshToken {
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
        CallFailure(.credentials, "The credentials could not be read: \(error)", burnsAttempt: false))
    }
    do throws(CallFailure) {
      return .success(
        try await accounts.login(email: credentials.email, password: credentials.password, readsUser: false))
    } catch {
      return .failure(error)
    }
  }

  private static var cancelled: CallFailure {
    var failure = CallFailure(.notSent, "The call was cancelled before it was sent.", burnsAttempt: false)
    failure.wasCancelled = true
    return failure
  }
}
