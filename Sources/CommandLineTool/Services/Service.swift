public import EventLoop
public import HTTPServing
public import Images
public import PostgreSQL
public import Support

/// A program that runs until it is stopped.
public enum Service {
  /// Prepares the process, and does what its command line says.
  public static func main(_ command: Command, version: String) async {
    StandardDescriptors.open()
    CoreDumps.forbid()
    KeyLog.forbid()
    // Before the first large allocation: images of 120 kB come and go thousands of times a second.
    MemoryTuning.raiseMallocThresholds()
    Signals.ignoreBrokenPipe()
    Signals.keepEndedChildren()
    await Tool(command, version: version, configuration: ServiceOptions.configuration).main()
  }
}

extension ServiceNotification {
  /// Gives signs of life until the task is cancelled: each when all the loops have answered, so that one that hangs is
  /// noticed.
  public func keepWatchdog(on loop: EventLoop, _ others: EventLoop...) async {
    guard let interval = watchdogInterval else { return }
    while (try? await loop.sleep(for: interval / 2)) != nil {
      for other in others { try? await other.sleep(for: .zero) }
      watchdog()
    }
  }
}

/// What the errors of files and keys mean for the exit code, the same in `analysis-worker` and `analysisctl`.
extension ExitCode {
  /// A file or folder that is not as it has to be.
  public init(of error: SystemError) {
    self =
      switch error.code {
      case .unreadable: .unreadableInput
      case .unwritable where error.isFullDisk: .tryLater
      case .unwritable where error.isMissingFolder: .usage
      case .unwritable, .notPrivate: .permission
      case .syntax, .unknownKey, .invalid: .usage
      default: .internalError
      }
  }

  /// A key file, or an image that does not open.
  public init(of error: ImageEncryptionError) {
    self =
      switch (error.underlying, error.code) {
      case (let file?, _) where file.code == .invalid: .unreadableInput
      case (let file?, _): ExitCode(of: file)
      case (nil, .file): .permission
      case (nil, .syntax): .usage
      case (nil, .noKey), (nil, .inUse), (nil, .tampered): .refused
      default: .internalError
      }
  }
}

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
  static let configuration = SharedOptions.configuration(config)
}

/// Options that all programs take, with one meaning.
public enum SharedOptions {
  /// `--database-proof`.
  public static let databaseProof = Option(
    "database-proof", .choice(ServerProof.self), default: .verified, environment: "ANALYSIS_DATABASE_PROOF",
    key: "database-proof",
    help:
      "What a database server has to prove: verified asks one on another machine for a certificate in its name and one "
      + "on this machine for SCRAM or its socket's owner, as-given for what the connection string says.")

  /// `--image-store`.
  public static let imageStore = Option<String?>(
    "image-store", .path, environment: "ANALYSIS_IMAGE_STORE", key: "image-store",
    help:
      "File (mode 0600) with the address and key of the object store in which images are; a bare name is a service "
      + "credential.")

  /// The configuration file that an option names, read by `System`.
  public static func configuration(_ option: Option<String?>) -> ConfigurationSource {
    ConfigurationSource(option: option) { path, keys in
      ConfigurationValues(path: path, values: try ConfigurationFile.read(path, keys: keys).values)
    }
  }
}

/// Which option names the configuration file, and who reads it.
public struct ConfigurationSource: Sendable {
  let option: Option<String?>
  let load: @Sendable (_ path: String, _ keys: Set<String>) throws -> ConfigurationValues
}

/// What a configuration file says, as text by key. Unknown keys are its reader's concern.
public struct ConfigurationValues: Sendable, Equatable {
  /// The file, for messages.
  public let path: String
  /// Texts by key.
  public let values: [String: String]

  /// Makes the values of a file.
  public init(path: String, values: [String: String]) {
    self.path = path
    self.values = values
  }

  /// No configuration file.
  public static let none = ConfigurationValues(path: "", values: [:])
}
