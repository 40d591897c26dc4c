/// Gives the test a PostgreSQL cluster of its own, started, and removes it afterwards.
///
/// Two tests at a time have one; the others wait here, before anything of theirs measures time. A standby
/// that a test makes of its cluster needs no turn, but is to be removed by it (`withStandby`).
public func withServerCluster<R>(
  _ options: ServerCluster.Options = ServerCluster.Options(), _ body: (ServerCluster) async throws -> R
) async throws -> R {
  try await ServerClusters.turns.take {
    let cluster = try await ServerCluster(options)
    return try await cluster.removed {
      try await cluster.start()
      return try await body(cluster)
    }
  }
}

/// Gives the test a standby of its cluster, started, and removes it afterwards.
public func withStandby<R>(
  of primary: ServerCluster, named name: String, _ options: ServerCluster.Options = ServerCluster.Options(),
  _ body: (ServerCluster) async throws -> R
) async throws -> R {
  let standby = try await primary.standby(named: name, options)
  return try await standby.removed {
    try await standby.start()
    return try await body(standby)
  }
}

/// Bounds the clusters: each is some ten processes and much writing.
private enum ServerClusters {
  static let turns = Semaphore(2)
}

extension ServerCluster {
  /// Does something with the cluster and removes it after it, whatever comes of it.
  fileprivate func removed<R>(after body: () async throws -> R) async throws -> R {
    let outcome: Result<R, any Error>
    do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
    await remove()
    return try outcome.get()
  }
}
