import Testing

@testable import Queue

@Suite("A refusal")
struct RefusalTests {
  @Test("has a sentence and advice for every reason", arguments: Refusal.Reason.allCases)
  func sentence(_ reason: Refusal.Reason) {
    let refusal = Refusal(code: reason.rawValue, user: "clinic-7", limit: 5, used: 5)
    #expect(refusal.code == reason.rawValue)
    #expect(refusal.sentence.hasSuffix("."))
    #expect(refusal.advice?.hasSuffix(".") == true)
    #expect(refusal.isQuota == (reason == .quota))
  }

  @Test("names the limit and what is used of it")
  func quota() {
    let refusal = Refusal(code: "quota", user: "clinic-7", limit: 5, used: 5)
    #expect(refusal.sentence == "User clinic-7 has reached the limit of 5 analyses a month (5 used).")
  }

  @Test("keeps the name of a reason that only a newer database knows")
  func newer() {
    let refusal = Refusal(code: "moon_phase", user: "clinic-7")
    #expect(refusal.code == "moon_phase")
    #expect(refusal.advice == Refusal(code: "other", user: "clinic-7").advice)
    #expect(refusal.sentence.contains("moon_phase"))
  }
}
