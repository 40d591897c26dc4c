internal import Support

/// Who gets the token that there is, who waits for the next one, and who has to fetch it: one for all.
///
/// Tokens are numbered by a generation. Whoever meets a 401 says which generation failed, so that only the
/// first of many such callers causes a login, and the others get the token that it brought.
struct TokenRenewals {
  /// A token and its number.
  struct Borrowed: Sendable {
    let token: Secret
    let generation: Int
  }

  /// What a caller is to do.
  enum Decision {
    case use(Borrowed)
    /// A renewal is under way.
    case wait
    /// Renew for all who wait: by the refresh token, where there is one and no login is needed.
    case renew(byLogin: Bool)
    case fail(CallFailure)
  }

  private struct Held {
    let session: Session
    let obtainedAt: Double
    let generation: Int

    /// When the next token is asked for: when a tenth of the life is left, or a minute of a long one. A JWT counts
    /// whole seconds and so may end up to a second early: that much is left at least, or half of a life of less than two.
    var refreshAt: Double? {
      session.expiresAt.map { end in
        let life = max(0, end - obtainedAt)
        return end - max(min(60, life / 10), min(1, life / 2))
      }
    }

    var borrowed: Borrowed { Borrowed(token: session.token, generation: generation) }
  }

  private var held: Held?
  private var isRenewing = false
  private var pause = LoginPause()
  /// Whether the endpoint refused a token as soon as it was new: then a refresh would bring no better one.
  private var needsLogin = false

  /// The number of the present token, counted from 1; 0 before the first login.
  var generation: Int { held?.generation ?? 0 }

  /// By which the next token may be had; nil where there is none.
  var refreshToken: Secret? { held?.session.refreshToken }

  /// Decides about a caller who wants a token: one that is newer than the refused, if one was.
  ///
  /// - Parameters:
  ///   - now: Seconds since 1970, by which tokens end.
  ///   - instant: The same moment on the clock of pauses.
  mutating func ask(
    after refused: Int?, now: Double, at instant: ContinuousClock.Instant
  ) -> Decision {
    if let held, !isRefused(refused), held.refreshAt.map({ now < $0 }) ?? true { return .use(held.borrowed) }
    if isRenewing { return .wait }
    if let failure = pause.failure(at: instant) { return outcome(failure, after: refused, now: now) }
    isRenewing = true
    return .renew(byLogin: needsLogin)
  }

  /// Takes in what the renewal brought.
  mutating func renewed(
    _ result: Result<Session, CallFailure>, now: Double, at instant: ContinuousClock.Instant
  ) {
    isRenewing = false
    switch result {
    case .success(let session):
      held = Held(session: session, obtainedAt: now, generation: generation + 1)
      pause.loginSucceeded(at: instant)
      needsLogin = false
    case .failure(let failure):
      pause.begin(failure, at: instant)
    }
  }

  /// What a caller gets who waited for the renewal that has ended.
  func waited(
    _ result: Result<Session, CallFailure>, after refused: Int?, now: Double
  ) -> Result<Borrowed, CallFailure> {
    switch result {
    case .success(let session):
      .success(held?.borrowed ?? Borrowed(token: session.token, generation: generation))
    case .failure(let failure):
      switch outcome(failure, after: refused, now: now) {
      case .use(let borrowed): .success(borrowed)
      case .wait, .renew, .fail: .failure(failure)
      }
    }
  }

  /// Takes note that a token was refused although it was new: the next login waits, since logging in works and
  /// helps nothing.
  mutating func newTokenWasRefused(_ generation: Int, at instant: ContinuousClock.Instant) {
    guard held?.generation == generation else { return }
    needsLogin = true
    pause.tokenRefused(generation, at: instant)
  }

  /// Whether a refusal is of the present token, and not of one that was replaced meanwhile.
  private func isRefused(_ refused: Int?) -> Bool {
    refused.map { $0 >= generation } ?? false
  }

  /// A renewal ahead of time that failed does no harm while the token holds.
  private func outcome(_ failure: CallFailure, after refused: Int?, now: Double) -> Decision {
    guard !isRefused(refused), let held, held.session.expiresAt.map({ now < $0 }) ?? true else {
      return .fail(failure)
    }
    return .use(held.borrowed)
  }
}
