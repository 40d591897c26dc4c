import Testing

@testable import Worker

@Suite("The adaptive window")
struct AdaptiveWindowTests {
  @Test("begins at its greatest size and never grows beyond it")
  func greatest() {
    var window = AdaptiveWindow(greatest: 8)
    for _ in 0..<1000 { window.succeeded(after: .milliseconds(10)) }
    #expect(window.size == 8)
  }

  @Test("halves once for all the calls that were in flight together")
  func halvesOnce() {
    var window = AdaptiveWindow(greatest: 64)
    let answer1 = window.overloaded()
    #expect(answer1)
    for _ in 0..<31 {
      let answer = window.overloaded()
      #expect(!answer)
    }
    #expect(window.size == 32)
    for _ in 0..<2 { window.overloaded() }
    #expect(window.size == 16)
  }

  @Test("never falls below one call")
  func least() {
    var window = AdaptiveWindow(greatest: 4)
    for _ in 0..<1000 { window.overloaded() }
    #expect(window.size == 1)
  }

  @Test("grows by one place for each window's worth of good answers")
  func grows() {
    var window = AdaptiveWindow(greatest: 64)
    window.succeeded(after: .milliseconds(10))
    window.overloaded()
    #expect(window.size == 32)
    for _ in 0..<32 { window.succeeded(after: .milliseconds(10)) }
    #expect(window.size == 33)
    for _ in 0..<33 { window.succeeded(after: .milliseconds(10)) }
    #expect(window.size == 34)
  }

  @Test("does not grow while the latency has more than doubled")
  func latency() {
    var window = AdaptiveWindow(greatest: 64)
    for _ in 0..<100 { window.succeeded(after: .milliseconds(10)) }
    window.overloaded()
    for _ in 0..<2000 { window.succeeded(after: .milliseconds(100)) }
    let stalled = window.size
    for _ in 0..<2000 { window.succeeded(after: .milliseconds(10)) }
    #expect(stalled < 40)
    #expect(window.size > stalled)
  }
}
