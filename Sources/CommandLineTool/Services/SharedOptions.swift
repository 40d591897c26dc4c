public import PostgreSQL
import Support

/// Options that all programs take, with one meaning.
public enum SharedOptions {
  /// `--database-proof`.
  public static let databaseProof = Option(
    "database-proof", .choice(ServerProof.self), default: .verified, environment: "ANALYSIS_DATABASE_PROOF",
    key: "database-proof",
    help:
      "What a database server has to prove: verified asks one on another machine for a certificate in its name and one "
      + "on this machine for SCRAM or its socket's owner, as-given for what the connection string says.")

  /// The configuration file that an option names, read by `System`.
  public static func configuration(_ option: Option<String?>) -> ConfigurationSource {
    ConfigurationSource(option: option) { path, keys in
      ConfigurationValues(path: path, values: try ConfigurationFile.read(path, keys: keys).values)
    }
  }
}
