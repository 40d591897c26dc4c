import AnalysisCore
import CommandLineTool
import HTTPTransfer
import ModelClient
import PostgreSQL
import WorkerSettings

/// `analysisctl doctor`.
enum DoctorCommand {
  static let workerConfiguration = Option<String?>(
    "worker-config", .path,
    help: "A worker's configuration file: database, endpoints and the rest are taken from it.")
  static let endpoint = Option<String?>(
    "endpoint", .string, valueName: "url", help: "Base address of the endpoint.")
  static let credentials = Option<String?>(
    "credentials", .path, help: "File (mode 0600) with the service account's email and password.")
  static let dialect = Option<Endpoint.Dialect?>(
    "dialect", .choice(Endpoint.Dialect.self), help: "Which of the endpoint's two spellings to speak.")
  static let authorities = Option<String?>(
    "ca-file", .path, help: "Certificate authorities to trust for the endpoint, instead of the system's.")
  static let plainHTTP = Flag(
    "allow-plain-http", help: "Allow an endpoint without TLS that is not this machine.")
  static let deep = Flag("deep", help: "Recount everybody's use too, which reads all jobs.")
  static let longTransaction = Option(
    "long-transaction", .duration(in: .zero...(.seconds(86_400))), default: .seconds(300),
    help: "How long a transaction may last before it is told of.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "doctor", abstract: "Look for what is wrong with the database, the workers and the endpoint.",
      discussion: """
        Each check says what it saw and what to do about it. Nothing is changed; at the endpoint one health call \
        and one log-in are made, and no analysis. Given --worker-config, what that worker uses is looked at; \
        options come before its file.

        Exit codes: 0 when nothing is wrong (warnings there may be), 1 when something is, 69 when the database \
        cannot be reached; the endpoint is looked at all the same.
        """,
      examples: [
        Example("analysisctl doctor", "The database, the schema and the workers."),
        Example(
          "analysisctl doctor --worker-config /etc/analysis/worker.conf",
          "What that worker uses, its endpoint too."),
        Example(
          "analysisctl doctor --endpoint https://model.example.org --credentials account",
          "The endpoint and the account as well."),
        Example("analysisctl doctor --deep --json", "Everything, for a program."),
      ],
      inputs: [
        workerConfiguration, endpoint, credentials, dialect, authorities, plainHTTP, KeyFileOption.path, deep,
        longTransaction,
      ],
      exitCodes: [.done, .jobFailed, .usage, .unreadableInput, .unreachable, .tryLater]
    ) { context in
      let order = try DoctorArguments(context)
      return try await context.withSession(dependencies, schema: .nothing, database: order.database) {
        session in
        let http = HTTPClient(loop: session.database.loop, configuration: order.transfer)
        let interactor = DoctorInteractor(
          database: session.database, http: http, environment: context.environment)
        let response: DoctorResponse
        do {
          response = try await interactor.answer(order.request)
        } catch {
          await http.close()
          throw error
        }
        await http.close()
        try session.view.show(response, by: DoctorPresenter.self)
        return response.exitCode
      }
    }
  }
}

/// What the options and the worker's file ask for together.
struct DoctorArguments {
  let request: DoctorRequest
  /// Where the worker finds the queue; nil to look where every command does.
  let database: ConnectionConfiguration?
  let transfer: HTTPTransfer.Configuration

  init(_ context: Context) throws {
    let values = context.values
    let path = try values[DoctorCommand.workerConfiguration]
    let settings = try path.map(GivenSettings.read)
    var request = DoctorRequest()
    request.isDeep = try values[DoctorCommand.deep]
    request.longTransaction = try values[DoctorCommand.longTransaction]
    if let path, let settings {
      request.worker = WorkerUse(path: path, listens: try settings.values[WorkerOptions.listen])
    }
    var transfer = try settings?.transfer() ?? HTTPTransfer.Configuration()
    transfer.readsCertificates = true
    if let file = try values[DoctorCommand.authorities] { transfer.certificateAuthorityFile = file }
    if try values[DoctorCommand.plainHTTP] { transfer.plainHTTP = .anywhere }
    request.keys = try Self.keys(context, settings)
    request.endpoints = try Self.endpoints(context, settings, transfer)
    self.request = request
    self.transfer = transfer
    let isNamed = values.source(of: CommonOptions.database) == .commandLine
    database = isNamed ? nil : try settings?.database()
  }

  /// The endpoint that is named, or else those of the worker's file, each once.
  private static func endpoints(
    _ context: Context, _ settings: GivenSettings?, _ transfer: HTTPTransfer.Configuration
  ) throws -> [EndpointUse] {
    let values = context.values
    let path = try values[DoctorCommand.credentials]
    let credentials = try path.map(CredentialsUse.file) ?? credentials(of: settings, context.environment)
    var addresses: [String] = []
    if let address = try values[DoctorCommand.endpoint] {
      addresses = [address]
    } else if let settings {
      let kinds = try settings.kinds()
      addresses = Set(try settings.addresses().filter { kinds.contains($0.key) }.values).sorted()
    }
    let dialect = try values[DoctorCommand.dialect] ?? settings?.values[WorkerOptions.dialect] ?? .server
    return try addresses.map { address in
      do {
        try transfer.check(address)
      } catch let error as TransferError {
        throw ControlError.usage("the endpoint cannot be used: \(error)")
      }
      return EndpointUse(
        endpoint: Endpoint(name: address, baseURL: address, dialect: dialect), credentials: credentials)
    }
  }

  private static func credentials(
    of settings: GivenSettings?, _ environment: [String: String]
  ) throws -> CredentialsUse {
    guard let path = try settings?.values[WorkerOptions.credentials] else { return .none }
    return isManaged(path, environment) ? .managed(path) : .file(path)
  }

  /// The key file that is named, or else that of the worker's file.
  private static func keys(_ context: Context, _ settings: GivenSettings?) throws -> KeysUse {
    if let path = try context.values[KeyFileOption.path] { return .file(path) }
    guard let path = try settings?.values[WorkerOptions.keyFile] else { return .none }
    return isManaged(path, context.environment) ? .managed(path) : .file(path)
  }

  /// A bare name may be a credential that the service manager gives to the worker alone.
  private static func isManaged(_ path: String, _ environment: [String: String]) -> Bool {
    !path.contains("/") && environment["CREDENTIALS_DIRECTORY"] == nil
  }
}
