import TestSupport
import Testing

@testable import Support

@Suite("Backoff")
struct BackoffTests {
  let backoff = Backoff(base: .seconds(1), cap: .seconds(60))

  @Test(
    "the ceiling doubles up to the cap",
    arguments: [(0, 1), (1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (1000, 60), (Int.max, 60)])
  func ceiling(attempt: Int, seconds: Int) {
    #expect(backoff.ceiling(attempt: attempt) == .seconds(seconds))
  }

  @Test("a wait lies between zero and the ceiling, and all of that range is used")
  func jitter() {
    var generator = SeededGenerator(seed: 7)
    let waits = (0..<1000).map { _ in backoff.delay(attempt: 4, using: &generator) }
    #expect(waits.allSatisfy { (.zero ... .seconds(8)).contains($0) })
    for quarter in 0..<4 {
      let range = Duration.seconds(2 * quarter)..<Duration.seconds(2 * quarter + 2)
      #expect(waits.filter(range.contains).count > 200)
    }
  }

  @Test("the same randomness gives the same waits")
  func reproducible() {
    var one = SeededGenerator(seed: 42)
    var other = SeededGenerator(seed: 42)
    #expect(backoff.delay(attempt: 5, using: &one) == backoff.delay(attempt: 5, using: &other))
  }

  @Test("no wait at all is possible, and the cap holds from the first attempt")
  func edges() {
    var generator = SeededGenerator(seed: 1)
    #expect(Backoff(base: .zero, cap: .seconds(5)).delay(attempt: Int.max, using: &generator) == .zero)
    #expect(Backoff(base: .seconds(-1), cap: .seconds(5)).ceiling(attempt: 3) == .zero)
    #expect(Backoff(base: .seconds(10), cap: .seconds(5)).ceiling(attempt: 1) == .seconds(5))
  }

  @Test("the generator is SplitMix64: its published numbers for the start value 1234567")
  func splitMix() {
    var generator = SeededGenerator(seed: 1_234_567)
    #expect(
      (0..<5).map { _ in generator.next() } == [
        6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
        4_593_380_528_125_082_431,
        16_408_922_859_458_223_821,
      ])
  }

  @Test(
    "the allocator takes its thresholds",
    .disabled(if: Sanitizer.keepsMemory, "the sanitizer's allocator has none"))
  func malloc() {
    #expect(MemoryTuning.raiseMallocThresholds())
  }
}
