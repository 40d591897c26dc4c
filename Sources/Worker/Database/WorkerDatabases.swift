internal import EventLoop
internal import PostgreSQL

/// The connections of a worker: control (claims, leases, housekeeping), store, and two for images. What
/// listens has one of its own.
struct WorkerDatabases {
  /// One reads while the other's rows are being taken in.
  static let imageConnections = 2

  let control: ConnectionPool
  let store: ConnectionPool
  let images: ConnectionPool

  init(_ configuration: WorkerConfiguration, loop: EventLoop) {
    control = ConnectionPool(configuration.database, on: loop, size: 1)
    store = ConnectionPool(configuration.database, on: loop, size: 1)
    images = ConnectionPool(configuration.database, on: loop, size: Self.imageConnections)
  }

  func close() async {
    await control.close()
    await store.close()
    await images.close()
  }
}
