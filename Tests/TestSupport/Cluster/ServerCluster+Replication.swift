extension ServerCluster {
  /// Whether the server of the tests came with what makes a standby.
  public static var canReplicate: Bool { program("pg_basebackup") != nil }

  /// Makes a streaming standby of this server, which must run; the standby is not started.
  ///
  /// - Parameter name: What the standby calls itself, for `synchronous_standby_names`.
  /// - Throws: `TestSupportError` when `pg_basebackup` fails.
  public func standby(named name: String, _ options: Options = Options()) async throws -> ServerCluster {
    let source = "\(conninfo(over: listensOnTCP ? .tcp : .socket)) application_name=\(name)"
    return try await ServerCluster(options) { standby in
      // -R writes the source into the standby's settings, and the file that makes it one.
      try await standby.programs.run(
        "pg_basebackup",
        ["-D", standby.dataFolder, "-R", "-X", "stream", "-c", "fast", "-N", "-d", source])
    }
  }

  /// Makes a standby that runs the primary, and waits until it takes writes.
  public func promote() async throws {
    try await control("promote", ["-w", "-t", "240"])
  }
}
