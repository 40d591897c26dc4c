import EventLoop
import Testing

@Suite("The bell")
struct BellTests {
  @Test("keeps one ring for the next who waits")
  func kept() async throws {
    let loop = try EventLoop()
    let bell = Bell(loop: loop)
    bell.ring()
    bell.ring()
    await bell.wait()
    // The second ring was the same as the first: only the time ends this wait.
    let start = ContinuousClock.now
    await bell.wait(atMost: .milliseconds(300))
    #expect(ContinuousClock.now - start >= .milliseconds(300))
    loop.shutdown()
  }

  @Test("wakes several waiting tasks one by one")
  func several() async throws {
    let loop = try EventLoop()
    let bell = Bell(loop: loop)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<10 { group.addTask { await bell.wait() } }
      var woken = 0
      while woken < 10 {
        bell.ring()
        await group.next()
        woken += 1
      }
    }
    loop.shutdown()
  }

  @Test("lets a cancelled task go at once, and forgets it")
  func cancelled() async throws {
    let loop = try EventLoop()
    let bell = Bell(loop: loop)
    let waiting = Task(executorPreference: loop) { await bell.wait(atMost: .seconds(3600)) }
    // Behind the task on its loop: now it waits.
    await withCheckedContinuation { done in loop.execute { done.resume() } }
    waiting.cancel()
    await waiting.value
    let after = Task { await bell.wait() }
    bell.ring()
    await after.value
    loop.shutdown()
  }
}
