internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Synchronization

/// Wakes the workers of shards whose jobs were submitted too soon after others for their own transaction to do so: for all
/// of some milliseconds together.
struct WorkerCaller: Sendable {
  /// Notifications of all databases of a server are committed one after the other.
  private static let pause: Duration = .milliseconds(10)

  private final class Shards: Sendable {
    private let shards = Mutex<Set<Int16>>([])

    func add(_ shard: Int16) { _ = shards.withLock { $0.insert(shard) } }

    func take() -> [Int16] {
      shards.withLock { shards in
        defer { shards = [] }
        return shards.sorted()
      }
    }
  }

  private let database: ConnectionPool
  private let bell: Bell
  private let shards = Shards()

  init(_ database: ConnectionPool) {
    self.database = database
    bell = Bell(loop: database.loop)
  }

  /// A job was submitted, and nobody was woken for it.
  func submitted(in shard: Int16) {
    shards.add(shard)
    bell.ring()
  }

  /// Wakes workers until the task is cancelled. One that cannot be sent is no matter: workers look by themselves.
  func run() async {
    while !Task.isCancelled {
      await bell.wait()
      for shard in shards.take() {
        try? await WorkerStatements.notifyWorkers(shard: shard).run(on: database)
      }
      try? await database.loop.sleep(for: Self.pause)
    }
  }
}
