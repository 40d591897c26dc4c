import TestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("Lease ids in seeded histories")
struct LeaseIDHistories {
  @Test("the ids of a process never repeat and those of a fleet never meet")
  func unique() throws {
    try simulate(200) { random in
      var fleet = (0..<20).map { _ in LeaseIDs(using: &random) }
      var taken: Set<Int64> = []
      for _ in 0..<200 {
        let process = Int.random(in: fleet.indices, using: &random)
        let count = Int.random(in: 0...8, using: &random)
        let first = fleet[process].take(count)
        try hold(first > 0, "an id is positive, not \(first)")
        for id in first..<first + Int64(max(count, 1)) {
          try hold(taken.insert(id).inserted, "the id \(id) was given out twice")
        }
      }
    }
  }

  /// Random bits that are all set, so that the counter begins in the last block of ids.
  private struct Ones: RandomNumberGenerator {
    mutating func next() -> UInt64 { .max }
  }

  @Test("at the end of all numbers they go on with small ones and stay positive")
  func end() throws {
    var ones = Ones()
    var ids = LeaseIDs(using: &ones)
    let first = ids.take(1)
    #expect(first == 0x7FFF_FFFF << 32)
    // All that is left but three.
    _ = ids.take(Int(Int64.max - first - 3))
    let last = ids.take(2)
    #expect(last > first)
    let next = ids.take(8)
    #expect(next == 1 << 32)
  }
}
