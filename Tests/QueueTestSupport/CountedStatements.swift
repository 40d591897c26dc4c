public import TestSupport
public import Testing

extension ServerCluster.Options {
  /// A cluster that counts its statements. What is counted is work, not time, so nothing has to be durable.
  public static var countingStatements: ServerCluster.Options {
    var options = ServerCluster.Options()
    options.settings = [
      "shared_preload_libraries": "pg_stat_statements", "fsync": "off", "synchronous_commit": "off",
    ]
    return options
  }
}

extension Trait where Self == ConditionTrait {
  /// Only where the server can count its statements.
  public static var whereStatementsAreCounted: ConditionTrait {
    .enabled("this server came without the module pg_stat_statements") {
      try await TestServer.shared.offers(extension: "pg_stat_statements")
    }
  }
}
