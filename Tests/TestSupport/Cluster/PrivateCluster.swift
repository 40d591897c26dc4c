/// The PostgreSQL cluster that all databases of a test process share: fast rather than durable, started once,
/// gone when the process ends.
enum PrivateCluster {
  /// Makes and starts a cluster, which stays until this process ends.
  static func start() async throws -> ServerCluster {
    var options = ServerCluster.Options()
    options.settings = [
      "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "wal_level": "minimal",
      "max_wal_senders": "0", "max_connections": "300", "max_locks_per_transaction": "256",
      "max_wal_size": "2GB", "log_min_messages": "fatal",
    ]
    // One role that has to give its password; the others are trusted.
    options.access = ["local all needs_password scram-sha-256"]
    let cluster = try await ServerCluster(options)
    try await cluster.start()
    return cluster
  }
}
