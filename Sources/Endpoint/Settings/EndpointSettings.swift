public import CommandLineTool
public import HTTPTransfer
public import PostgreSQL
public import Support

/// Which endpoints are called, how and by which account: as a command line names it, and a worker's configuration file
/// where that leaves something out.
public struct EndpointSettings: Sendable {
  /// How requests and answers are written: one of the endpoint's two spellings.
  public typealias Dialect = Endpoint.Dialect

  /// What a person names.
  public struct Named: Sendable {
    /// The base address of the endpoint.
    public var endpoint: String?
    /// The file with the service account.
    public var credentials: String?
    /// The file with the certificate by which the worker shows itself to the endpoint.
    public var certificate: String?
    /// Which of the endpoint's two spellings to speak.
    public var dialect: Dialect?
    /// The file of certificate authorities to trust for the endpoint.
    public var authorities: String?
    /// The newest version of HTTP that is offered to the endpoint.
    public var newestVersion: HTTPVersion?
    /// Whether an endpoint without TLS may be on another machine.
    public var plainHTTP = false

    /// Nothing is named.
    public init() {}
  }

  /// The endpoints; empty when none was named.
  public let endpoints: [Endpoint]
  /// Where the account is.
  public let credentials: SecretUse
  /// Where the certificate is by which a worker shows itself to them.
  public let certificate: SecretUse
  /// How they are reached, but for that certificate.
  public let transfer: HTTPTransfer.Configuration

  /// Puts together what was named and what a worker's file says: the endpoint that is named, or else those of the file,
  /// each once.
  ///
  /// - Throws: What is wrong with a value of the file or with an address.
  public init(_ named: Named, _ settings: GivenSettings?, environment: [String: String]) throws {
    var transfer = try settings?.transfer() ?? HTTPTransfer.Configuration()
    if let file = named.authorities { transfer.certificateAuthorityFile = file }
    if let version = named.newestVersion { transfer.newestVersion = version }
    if named.plainHTTP { transfer.plainHTTP = .anywhere }
    self.transfer = transfer
    credentials = SecretUse(
      named: named.credentials, inSettings: try settings?.values[WorkerOptions.credentials], environment)
    certificate = SecretUse(
      named: named.certificate, inSettings: try settings?.values[WorkerOptions.certificate], environment)
    var addresses: [String] = []
    if let address = named.endpoint {
      addresses = [address]
    } else if let settings {
      let kinds = try settings.kinds()
      addresses = Set(try settings.addresses().filter { kinds.contains($0.key) }.values).sorted()
    }
    let dialect = try named.dialect ?? settings?.values[WorkerOptions.dialect] ?? .server
    let normal = try settings?.values[WorkerOptions.normalIDs] ?? []
    endpoints = try addresses.map { address in
      do {
        try transfer.check(address)
      } catch let error as TransferError {
        throw CommandFailure.usage("the endpoint cannot be used: \(error)")
      }
      var endpoint = Endpoint(name: address, baseURL: address, dialect: dialect)
      if !normal.isEmpty { endpoint.normalIDs = Set(normal) }
      return endpoint
    }
  }
}

/// Where the service account, a certificate or the keys of encrypted images are found.
public enum SecretUse: Sendable, Equatable {
  /// Nowhere: calls are made without an account, or no images are encrypted.
  case none
  case file(String)
  /// The service manager gives it to the worker by this name, and to nobody else.
  case managed(String)

  /// The file that is named, or else that of the worker's file.
  public init(named: String?, inSettings path: String?, _ environment: [String: String]) {
    if let named {
      self = .file(named)
    } else if let path {
      // A bare name may be a credential that the service manager gives to the worker alone.
      let isManaged = !path.contains("/") && environment["CREDENTIALS_DIRECTORY"] == nil
      self = isManaged ? .managed(path) : .file(path)
    } else {
      self = .none
    }
  }
}

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
