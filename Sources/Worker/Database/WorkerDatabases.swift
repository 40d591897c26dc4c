internal import EventLoop
internal import PostgreSQL

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
