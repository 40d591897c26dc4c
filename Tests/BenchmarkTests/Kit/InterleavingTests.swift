import BenchmarkKit
import Testing

struct InterleavingTests {
  @Test("Every contender has run once before any runs again")
  func rounds() {
    let order = Interleaving.order(contenders: 3, runs: 2)
    #expect(order.map(\.contender) == [0, 1, 2, 0, 1, 2])
    #expect(order.map(\.run) == [0, 0, 0, 1, 1, 1])
  }

  @Test("Without contenders or runs there is nothing to do", arguments: [(0, 3), (3, 0)])
  func nothing(contenders: Int, runs: Int) {
    #expect(Interleaving.order(contenders: contenders, runs: runs).isEmpty)
  }
}
