import Testing

@testable import Control

@Suite("Images in memory")
struct MemoryCacheTests {
  private func image(_ count: Int) -> [UInt8] { [UInt8](repeating: 1, count: count) }

  @Test("are never more bytes than the bound, and those used least lately go first")
  func bound() {
    var cache = MemoryCache(limit: 100)
    for key in ["a", "b", "c", "d"] { cache.keep(key, image(25), until: 10) }
    #expect(cache.image("a", now: 0) != nil)
    cache.keep("e", image(50), until: 10)
    #expect(cache.byteCount == 100)
    #expect(
      ["a", "b", "c", "d", "e"].map { cache.image($0, now: 0) != nil } == [true, false, false, true, true])
  }

  @Test("that are larger than the bound are not kept, nor do they send others away")
  func tooLarge() {
    var cache = MemoryCache(limit: 100)
    cache.keep("a", image(60), until: 10)
    cache.keep("b", image(101), until: 10)
    #expect(cache.image("a", now: 0) != nil)
    #expect(cache.image("b", now: 0) == nil)
    #expect(cache.byteCount == 60)
  }

  @Test("that are kept again count once")
  func again() {
    var cache = MemoryCache(limit: 100)
    for count in [60, 70, 80] { cache.keep("a", image(count), until: 10) }
    #expect(cache.byteCount == 80)
    #expect(cache.image("a", now: 0)?.count == 80)
  }

  @Test("go when their time is over")
  func expiry() {
    var cache = MemoryCache(limit: 100)
    cache.keep("a", image(60), until: 10)
    #expect(cache.image("a", now: 9.9) != nil)
    #expect(cache.image("a", now: 10) == nil)
    #expect(cache.byteCount == 0)
  }

  @Test("keep to the bound over a long time of use, and the line does not grow")
  func long() {
    var cache = MemoryCache(limit: 1000)
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      let key = "\(Int.random(in: 0..<50, using: &generator))"
      if cache.image(key, now: 0) == nil { cache.keep(key, image(Int.random(in: 1...200)), until: 1) }
      #expect(cache.byteCount <= 1000)
    }
  }
}
