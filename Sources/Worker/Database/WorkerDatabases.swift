internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Synchronization

/// The connections of a worker: control (claims, housekeeping), leases, store, and two for images. What listens
/// has one of its own, and so have the signs of life: they must never wait behind another's slow statement.
struct WorkerDatabases {
  /// One reads while the other's rows are being taken in.
  static let imageConnections = 2

  let control: ConnectionPool
  let leases: ConnectionPool
  let store: ConnectionPool
  let images: ConnectionPool

  init(_ configuration: WorkerConfiguration, loop: EventLoop, meters: Meters) {
    let database = meters.watching(configuration.database)
    func pool(_ size: Int) -> ConnectionPool { ConnectionPool(database, on: loop, size: size) }
    control = pool(1)
    leases = pool(1)
    store = pool(1)
    images = pool(Self.imageConnections)
  }

  func close() async {
    await control.close()
    await leases.close()
    await store.close()
    await images.close()
  }
}

/// Who is logged in at the database: errors for want of a role name the role and the login.
final class LoginCell: Sendable {
  private let login = Mutex<DatabaseLogin?>(nil)

  /// Keeps what the server said last.
  func keep(_ login: DatabaseLogin) { self.login.withLock { $0 = login } }

  /// The error as it is, or, where the login lacks the worker's role, one that says so.
  func named(_ error: JobQueueError) -> JobQueueError {
    guard error.lacksRole, let login = login.withLock({ $0 }) else { return error }
    return error.naming([.worker], for: "analysis-worker", login)
  }
}
