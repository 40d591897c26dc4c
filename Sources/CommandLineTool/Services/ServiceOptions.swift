public import HTTPServing
public import Support

/// Options of every program that runs until it is stopped, `analysis-worker` and `analysis-gateway`.
public enum ServiceOptions {
  /// `--config`.
  public static let config = Option(
    "config", .path, environment: "ANALYSIS_CONFIG",
    help: "File with further options, one `key = value` a line.")
  /// `--database`.
  public static let database = Option(
    "database", .string, valueName: "conninfo", environment: "ANALYSIS_DATABASE", key: "database",
    help:
      "Where the queue is, as libpq writes it (URI or key=value). Else PG* variables and service files. A "
      + "password comes from a password file alone.")
  /// `--metrics-from-anywhere`.
  public static let metricsFromAnywhere = Flag(
    "metrics-from-anywhere", environment: "ANALYSIS_METRICS_FROM_ANYWHERE", key: "metrics-from-anywhere",
    help: "Allow --metrics at an address that other machines reach; nobody is asked for a password there.")
  /// `--log-level`.
  public static let logLevel = Option(
    "log-level", .choice(Log.Level.self), default: .info, environment: "ANALYSIS_LOG_LEVEL", key: "log-level",
    help: "The least severe messages that are logged.")

  /// `--metrics`, with the port that a program usually has there.
  public static func metrics(port: Int) -> Option<ListenAddress?> {
    Option(
      "metrics", .listenAddress, environment: "ANALYSIS_METRICS", key: "metrics",
      help:
        "Serve /metrics (Prometheus), /healthz and /readyz there by HTTP, for instance at 127.0.0.1:\(port). The log names "
        + "the port where 0 is given.")
  }

  /// Where the configuration file is named, and how it is read.
  public static let configuration = SharedOptions.configuration(config)
}
