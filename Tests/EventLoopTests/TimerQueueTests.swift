import Synchronization
import Testing

@testable import EventLoop

@Suite("The timer queue")
struct TimerQueueTests {
  @Test(
    "gives back what is due in the order of its time, whatever the order of scheduling", arguments: 0..<20)
  func order(seed: Int) {
    var generator = SystemRandomNumberGenerator()
    var queue = TimerQueue()
    let start = ContinuousClock.now
    let fired = Mutex<[Int]>([])
    for delay in Array(0..<200).shuffled(using: &generator) {
      _ = queue.schedule(at: start + .milliseconds(delay)) { fired.withLock { $0.append(delay) } }
    }
    while let action = queue.popDue(at: start + .milliseconds(99)) { action() }
    #expect(fired.withLock { $0 } == Array(0..<100))
    #expect(queue.nextDue() == start + .milliseconds(100))
  }

  @Test("keeps no place for timers that were cancelled long before they were due")
  func compaction() {
    var queue = TimerQueue()
    let start = ContinuousClock.now
    for number in 0..<10_000 {
      let token = queue.schedule(at: start + .seconds(60 + number)) {}
      queue.cancel(token)
    }
    #expect(queue.count == 0)
    #expect(queue.entryCount <= 65)
    #expect(queue.nextDue() == nil)
  }
}
