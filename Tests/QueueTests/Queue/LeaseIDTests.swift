import Testing

@testable import Queue
@testable import Support

@Suite("Lease ids")
struct LeaseIDTests {
  @Test("follow one another without overlapping, and are positive")
  func unique() {
    var random = SeededGenerator(seed: 3)
    var ids = LeaseIDs(using: &random)
    var last: Int64 = 0
    for count in [1, 8, 1, 3, 0, 1] {
      let first = ids.take(count)
      #expect(first > last)
      last = first + Int64(max(count, 1)) - 1
    }
  }

  @Test("of different processes are far apart")
  func apart() {
    var random = SeededGenerator(seed: 4)
    var highBits: Set<Int64> = []
    for _ in 0..<1000 {
      var ids = LeaseIDs(using: &random)
      highBits.insert(ids.take(1) >> 32)
    }
    #expect(highBits.count == 1000)
    #expect(!highBits.contains(0))
  }
}
