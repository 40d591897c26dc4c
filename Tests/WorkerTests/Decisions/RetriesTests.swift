import EventLoop
import PostgreSQL
import Synchronization
import Testing

@testable import Queue
@testable import Support
@testable import Worker

@Suite("The pauses while the database is away")
struct RetriesTests {
  @Test("are of one to two seconds at their longest, so that a worker is back soon after its database")
  func longest() async throws {
    let loop = try EventLoop()
    let worker = AnalysisWorker(
      WorkerConfiguration(database: ConnectionConfiguration()), clients: [:], loop: loop,
      log: Log(level: .error, format: .json, sink: MemorySink()), counters: Counters(), host: "test",
      processID: 1, version: "1.0")
    var context = worker.context
    context.shards = [0]
    let pipeline = Pipeline(context)
    await withTaskExecutorPreference(loop) {
      await withTaskGroup(of: [String].self) { group in
        for _ in 0..<20 {
          group.addTask { [context] in
            var retries = Retries(context, what: "keeping leases", pipeline: pipeline, leads: true)
            // Until they grow no more.
            for _ in 1...6 { _ = await retries.pause(after: away) }
            return await order(&retries, on: loop)
          }
        }
        for await order in group { #expect(order == ["one second", "the pause", "two seconds"]) }
      }
    }
    loop.shutdown()
  }

  private let away = JobQueueError(.unreachable, "The database is away.")

  /// In which order the next pause and two times end, of which the first begins before the pause and the second
  /// after it. A loop's timers fire in the order in which they are due, however late: no time is measured.
  private func order(_ retries: inout Retries, on loop: EventLoop) async -> [String] {
    let ended = Mutex<[String]>([])
    let isOver = Bell(loop: loop)
    _ = loop.schedule(after: .seconds(1)) { ended.withLock { $0.append("one second") } }
    behind(loop) {
      _ = loop.schedule(after: .seconds(2)) {
        behind(loop) {
          ended.withLock { $0.append("two seconds") }
          isOver.ring()
        }
      }
    }
    _ = await retries.pause(after: away)
    ended.withLock { $0.append("the pause") }
    await isOver.wait()
    return ended.withLock { $0 }
  }

  /// Runs something on the loop behind what is under way there now.
  private func behind(_ loop: EventLoop, _ body: @escaping @Sendable () -> Void) {
    loop.execute { loop.execute { loop.execute(body) } }
  }
}
