import Testing

@testable import Endpoint
@testable import Support

@Suite("The renewal of tokens")
struct TokenRenewalsTests {
  private let instant = ContinuousClock.now

  private func session(_ seconds: Int, at now: Double) throws -> Result<Session, CallFailure> {
    let answer = try JSONReader.read(Array(#"{"token":"t","expiresIn":\#(seconds)}"#.utf8))
    return .success(
      try Session(AnswerFields(answer, path: ""), Endpoint.Fields(.server), receivedAt: now))
  }

  @Test("that fails ahead of time leaves the token in use until it ends")
  func ahead() throws {
    var renewals = TokenRenewals()
    _ = renewals.ask(after: nil, now: 0, at: instant)
    renewals.renewed(try session(100, at: 0), now: 0, at: instant)
    guard case .renew(byLogin: false) = renewals.ask(after: nil, now: 95, at: instant) else {
      Issue.record("a token is renewed when a tenth of its life is left")
      return
    }
    let failure = Result<Session, CallFailure>.failure(CallFailure(.server, "No.", consumesAttempt: false))
    renewals.renewed(failure, now: 95, at: instant)
    #expect(try renewals.waited(failure, after: nil, now: 95).get().generation == 1)
    guard case .use(let borrowed) = renewals.ask(after: nil, now: 99, at: instant) else {
      Issue.record("a token that holds is borrowed")
      return
    }
    #expect(borrowed.generation == 1)
    guard case .fail = renewals.ask(after: nil, now: 100, at: instant) else {
      Issue.record("a token that has ended is not borrowed")
      return
    }
  }

  @Test("does not answer a refusal with a newer token that has ended meanwhile")
  func endedMeanwhile() throws {
    var renewals = TokenRenewals()
    for now in [0.0, 200] {
      _ = renewals.ask(after: nil, now: now, at: instant)
      renewals.renewed(try session(100, at: now), now: now, at: instant)
    }
    guard case .use = renewals.ask(after: 1, now: 250, at: instant) else {
      Issue.record("the newer token is borrowed")
      return
    }
    guard case .renew(byLogin: false) = renewals.ask(after: 1, now: 400, at: instant) else {
      Issue.record("a token that has ended is renewed")
      return
    }
  }
}
