import CommandLineTool
public import HTTPTransfer

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
  /// In a file.
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
