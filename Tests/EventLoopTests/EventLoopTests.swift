import Glibc
import Synchronization
import Testing

@testable import EventLoop

@Suite("The event loop")
struct EventLoopTests {
  @Test("runs closures in the order in which they were given, on its own thread")
  func order() async throws {
    let loop = try EventLoop()
    let seen = Mutex<[Int]>([])
    await withCheckedContinuation { done in
      for number in 0..<1000 {
        loop.execute { seen.withLock { $0.append(loop.isCurrent ? number : -1) } }
      }
      loop.execute { done.resume() }
    }
    #expect(seen.withLock { $0 } == Array(0..<1000))
    #expect(!loop.isCurrent)
    loop.shutdown()
  }

  @Test("fires timers in the order in which they are due, and no cancelled one")
  func timers() async throws {
    let loop = try EventLoop()
    let seen = Mutex<[String]>([])
    await withCheckedContinuation { done in
      loop.execute {
        // Counted from one moment, so that a pause between two of these lines changes no order.
        let now = EventLoop.now
        _ = loop.core.schedule(at: now + .milliseconds(30)) { done.resume() }
        _ = loop.core.schedule(at: now + .milliseconds(20)) { seen.withLock { $0.append("second") } }
        let dropped = loop.core.schedule(at: now + .milliseconds(15)) {
          seen.withLock { $0.append("dropped") }
        }
        _ = loop.core.schedule(at: now + .milliseconds(10)) { seen.withLock { $0.append("first") } }
        loop.cancel(dropped)
      }
    }
    #expect(seen.withLock { $0 } == ["first", "second"])
    loop.shutdown()
  }

  @Test("tells when a descriptor can be read, until it is unwatched")
  func descriptors() async throws {
    let loop = try EventLoop()
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let (reader, writer) = (ends[0], ends[1])
    let readiness = await withCheckedContinuation { (done: CheckedContinuation<Readiness, Never>) in
      loop.execute {
        do {
          try loop.watch(reader, .read) { readiness in
            loop.unwatch(reader)
            done.resume(returning: readiness)
          }
        } catch {
          done.resume(returning: .error)
        }
        var byte: UInt8 = 7
        _ = write(writer, &byte, 1)
      }
    }
    #expect(readiness == .read)
    close(reader)
    close(writer)
    loop.shutdown()
  }

  @Test("hears what a descriptor is watched for since the last change of a round")
  func changes() async throws {
    let loop = try EventLoop()
    var ends: [Int32] = [0, 0]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    let (near, far) = (ends[0], ends[1])
    let seen = Mutex<[Readiness]>([])
    /// Changes the interest some times within a round, and lets the loop go round twice more.
    func round(_ interests: [Interest]) async {
      await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
        loop.execute {
          for interest in interests { try? loop.update(near, interest) }
          // A timer is looked at after the descriptors.
          _ = loop.schedule(after: .zero) { _ = loop.schedule(after: .zero) { done.resume() } }
        }
      }
    }
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      loop.execute {
        try? loop.watch(near, .read) { readiness in seen.withLock { $0.append(readiness) } }
        done.resume()
      }
    }
    await round([.write, .read])
    #expect(seen.withLock { $0 } == [])
    await round([.read, .write])
    #expect(seen.withLock { Set($0.map(\.rawValue)) } == [Readiness.write.rawValue])
    await round([[]])
    seen.withLock { $0 = [] }
    var byte: UInt8 = 7
    _ = write(far, &byte, 1)
    await round([.read, []])
    #expect(seen.withLock { $0 } == [])
    await round([.write, .read])
    #expect(seen.withLock { Set($0.map(\.rawValue)) } == [Readiness.read.rawValue])
    loop.shutdown()
    close(near)
    close(far)
  }

  @Test("does work that brings about more work for ever, and has its descriptors and timers take their turns")
  func endlessWork() async throws {
    final class Chain: Sendable {
      let ends = Atomic(false)
      func go(on loop: EventLoop) {
        guard !ends.load(ordering: .relaxed) else { return }
        loop.execute { self.go(on: loop) }
      }
    }
    let loop = try EventLoop()
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let (reader, writer) = (ends[0], ends[1])
    let chain = Chain()
    chain.go(on: loop)
    let readiness = await withCheckedContinuation { (done: CheckedContinuation<Readiness, Never>) in
      loop.execute {
        try? loop.watch(reader, .read) { readiness in
          loop.unwatch(reader)
          done.resume(returning: readiness)
        }
        _ = loop.schedule(after: .milliseconds(1)) {
          var byte: UInt8 = 7
          _ = write(writer, &byte, 1)
        }
      }
    }
    #expect(readiness == .read)
    chain.ends.store(true, ordering: .relaxed)
    loop.shutdown()
    close(reader)
    close(writer)
  }

  @Test(
    "hears of what its owner has opened by the number of a descriptor that was closed while it was watched")
  func reopened() async throws {
    let loop = try EventLoop()
    var (first, second): ([Int32], [Int32]) = ([0, 0], [0, 0])
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &first) == 0)
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &second) == 0)
    let (number, far, other) = (first[0], second[1], second[0])
    let readiness = await withCheckedContinuation { (done: CheckedContinuation<Readiness, Never>) in
      loop.execute {
        try? loop.watch(number, .write) { readiness in
          guard readiness.contains(.read) || readiness.contains(.error) else { return }
          loop.unwatch(number)
          done.resume(returning: readiness)
        }
        close(number)
        _ = dup2(other, number)
        try? loop.update(number, .read)
        // In a later round, when the loop has nothing else to hear.
        _ = loop.schedule(after: .zero) {
          var byte: UInt8 = 7
          _ = write(far, &byte, 1)
        }
      }
    }
    #expect(readiness == .read)
    loop.shutdown()
    for descriptor in [number, first[1], other, far] { close(descriptor) }
  }

  @Test("says which call failed when a closed descriptor is watched")
  func badDescriptor() async throws {
    let loop = try EventLoop()
    let failure = await withCheckedContinuation { (done: CheckedContinuation<EventLoopError?, Never>) in
      loop.execute {
        do throws(EventLoopError) {
          try loop.watch(-1, .read) { _ in }
          done.resume(returning: nil)
        } catch {
          done.resume(returning: error)
        }
      }
    }
    #expect(failure?.call == "epoll_ctl")
    #expect(failure?.errno == EBADF)
    loop.shutdown()
  }

  @Test("ends a sleep at once when its task is cancelled")
  func cancelledSleep() async throws {
    let loop = try EventLoop()
    let sleeper = Task { try await loop.sleep(for: .seconds(3600)) }
    sleeper.cancel()
    await #expect(throws: CancellationError.self) { try await sleeper.value }
    try await loop.sleep(for: .milliseconds(1))
    loop.shutdown()
  }

  @Test("is the executor of tasks and of actors, without a change of thread between them")
  func executor() async throws {
    let loop = try EventLoop()
    let pinned = Pinned(loop: loop)
    let here = await withTaskExecutorPreference(loop) {
      let before = Thread.current
      let inside = await pinned.thread()
      return before == inside && loop.isCurrent
    }
    #expect(here)
    loop.shutdown()
  }

  @Test("may be shut down twice, and by its own last reference on its own thread")
  func shutdown() async throws {
    var loop: EventLoop? = try EventLoop()
    loop?.shutdown()
    loop?.shutdown()
    loop = try EventLoop()
    await withCheckedContinuation { done in
      loop?.execute { [loop] in
        _ = loop?.isCurrent
        done.resume()
      }
      loop = nil
    }
  }
}

private enum Thread {
  static var current: UInt { UInt(pthread_self()) }
}

private actor Pinned {
  private let loop: EventLoop

  init(loop: EventLoop) {
    self.loop = loop
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  func thread() -> UInt { Thread.current }
}
