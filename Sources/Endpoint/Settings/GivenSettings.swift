public import CommandLineTool
public import HTTPTransfer
public import PostgreSQL
public import Support

/// The settings of a worker as it uses them: for the worker itself, and for `doctor`, which checks what a worker uses.
public struct GivenSettings: Sendable {
  /// What was given.
  public let values: Values

  /// The settings of a command line that was understood.
  public init(_ values: Values) {
    self.values = values
  }

  /// The settings of a worker that is given a configuration file and nothing else.
  ///
  /// - Throws: `SystemError` for a file that cannot be read, `UsageError` for a value that is not one.
  public static func read(_ path: String) throws -> GivenSettings {
    let command = WorkerOptions.command { _ in .done }
    let file = ConfigurationValues(
      path: path, values: try ConfigurationFile.read(path, keys: command.configurationKeys).values)
    let request = try Tool(command, version: WorkerOptions.version).parse([], configuration: file)
    guard case .run(let values) = request else {
      throw CommandFailure(.internalError, "A configuration file asked for a page of help.")
    }
    return GivenSettings(values)
  }

  /// Where the queue is.
  public func database() throws(UsageError) -> ConnectionConfiguration {
    var database = ConnectionConfiguration(
      try values[ServiceOptions.database], applicationName: "analysis-worker")
    database.searchPath = ConnectionConfiguration.catalogOnly
    database.settings = ConnectionConfiguration.plainSession
    database.serverProof = try values[SharedOptions.databaseProof]
    database.connectTimeout = try values[WorkerOptions.connectTimeout]
    return database
  }

  /// How endpoints are reached.
  public func transfer() throws(UsageError) -> HTTPTransfer.Configuration {
    var configuration = HTTPTransfer.Configuration()
    configuration.connectTimeout = try values[WorkerOptions.connectTimeout]
    configuration.certificateAuthorityFile = try values[WorkerOptions.authorities]
    configuration.pinnedKeys = try values[WorkerOptions.pins]
    configuration.newestVersion = try values[WorkerOptions.newestVersion]
    configuration.plainHTTP = try values[WorkerOptions.plainHTTP] ? .anywhere : .loopbackOnly
    return configuration
  }

  /// The types that are taken on.
  public func kinds() throws(UsageError) -> [AnalysisKind] {
    let kinds = try values[WorkerOptions.kinds]
    return kinds.isEmpty ? AnalysisKind.allCases : kinds
  }

  /// The address for each type.
  ///
  /// - Throws: `CommandFailure` when there is none, or none for a type that is asked for by name.
  public func addresses() throws -> [AnalysisKind: String] {
    var addresses: [AnalysisKind: String] = [:]
    if let address = try values[WorkerOptions.endpoint] {
      for kind in AnalysisKind.allCases { addresses[kind] = address }
    }
    for text in try values[WorkerOptions.endpointFor] {
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, let kind = AnalysisKind(rawValue: parts[0]) else {
        throw CommandFailure(
          .usage, "--endpoint-for takes type=url, for instance ear=https://ears.example.org.")
      }
      addresses[kind] = parts[1]
    }
    guard !addresses.isEmpty else {
      throw CommandFailure(
        .usage, "No endpoint is given.", advice: "Name it with --endpoint.")
    }
    for kind in try values[WorkerOptions.kinds] where addresses[kind] == nil {
      throw CommandFailure(
        .usage, "There is no endpoint for \(kind.rawValue).",
        advice: "Name it with --endpoint or --endpoint-for, or leave that --type out.")
    }
    return addresses
  }

  /// The endpoint at an address.
  ///
  /// - Throws: `CommandFailure` for an address to which no request may go.
  public func endpoint(_ address: String) throws -> Endpoint {
    do {
      // Checked at the start; at the first call a fault would cost attempts.
      try transfer().check(address)
    } catch let error as TransferError {
      throw CommandFailure(.usage, "The endpoint cannot be used: \(error)")
    }
    var endpoint = Endpoint(name: address, baseURL: address, dialect: try values[WorkerOptions.dialect])
    let normal = try values[WorkerOptions.normalIDs]
    if !normal.isEmpty { endpoint.normalIDs = Set(normal) }
    return endpoint
  }
}
