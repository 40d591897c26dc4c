import CommandLineTool
import Logging
import PostgreSQL
import System

/// The options that every command takes.
enum CommonOptions {
  static let database = Option<String?>(
    "database", .string, valueName: "CONNINFO", environment: "ANALYSIS_DATABASE", key: "database",
    help: "How to reach PostgreSQL: a URI or key=value pairs, for instance service=analysis. Without it the "
      + "usual PG* variables count. A password comes from a password file alone.")
  static let databaseProof = Option(
    "database-proof", .choice(ServerProof.self), default: .verified, environment: "ANALYSIS_DATABASE_PROOF",
    key: "database-proof",
    help:
      "What a database server on another machine has to prove: verified asks for a certificate in its name, "
      + "as-given for what the connection string says.")
  static let connectTimeout = Option(
    "connect-timeout", .duration, default: .seconds(30), environment: "ANALYSIS_CONNECT_TIMEOUT",
    key: "connect-timeout",
    help:
      "How long to go on trying while the database cannot be reached, for instance while a standby takes over; "
      + "0s tries once.")
  static let configuration = Option<String?>(
    "config", .path, environment: "ANALYSIS_CONFIG", help: "A configuration file with lines of key = value.")
  static let json = Flag("json", help: "Write results as JSON on standard output.")
  static let logLevel = Option(
    "log-level", .choice(Log.Level.self), default: .warning, environment: "ANALYSIS_LOG_LEVEL",
    key: "log-level", help: "The least important message of the program and the server that is shown.")

  static let all: [any Input] = [database, databaseProof, connectTimeout, configuration, json, logLevel]

  /// The configuration file, read by `System`.
  static let source = ConfigurationSource(option: configuration) { path, keys in
    ConfigurationValues(path: path, values: try ConfigurationFile.read(path, keys: keys).values)
  }
}
