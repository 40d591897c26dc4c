/// A connection as one call uses it: by itself, or within a transaction.
public struct ConnectionScope: Sendable {
  let connection: Connection
  /// The transaction's line; 0 outside of one.
  let id: UInt64
  /// The transaction's own deadline.
  let limit: ContinuousClock.Instant?

  init(connection: Connection, id: UInt64 = 0, limit: ContinuousClock.Instant? = nil) {
    self.connection = connection
    self.id = id
    self.limit = limit
  }

  var isRoot: Bool { id == 0 }
}
