import EventLoop
import Synchronization
import TestSupport
import Testing

@Suite("A helper thread")
struct HelperThreadTests {
  /// Threads that wait for each other.
  private final class Crowd: Sendable {
    private let missing: Mutex<Int>
    private let gate = Gate()

    init(_ count: Int) {
      missing = Mutex(count)
    }

    func meet() {
      let isLast = missing.withLock { missing in
        missing -= 1
        return missing == 0
      }
      if isLast { gate.open() }
      gate.wait()
      // Each who is through lets the next one follow.
      gate.open()
    }
  }

  @Test("runs what blocks beside the caller, who gets its value")
  func value() async throws {
    let loop = try EventLoop()
    #expect(await HelperThread.value { loop.isCurrent ? "on the loop" : "beside it" } == "beside it")
    loop.shutdown()
  }

  @Test("keeps nobody waiting but who asks: many block until all have come")
  func many() async {
    let crowd = Crowd(32)
    let come = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<32 {
        group.addTask {
          await HelperThread.value {
            crowd.meet()
            return true
          } ?? false
        }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(come == 32)
  }
}
