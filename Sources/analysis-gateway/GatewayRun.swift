import CommandLineTool
import EventLoop
import Gateway
import HTTPServing
import Images
import PostgreSQL
import Queue
import Support
import Synchronization

/// Puts the gateway together from its options, runs it, and ends it in good order.
struct GatewayRun {
  let context: Context

  /// Descriptors that are no app's: connections to the database, decoders, what its threads wait with, of which there is
  /// one for each processor.
  private static let ownDescriptors = 60 + 4 * HTTPDaemon.Bounds.processors
  /// How long answers take to go out at the end.
  private static let shutdownGrace: Duration = .seconds(2)

  private var values: Values { context.values }

  func run() async throws -> ExitCode {
    let log = Log.standardError(level: try values[ServiceOptions.logLevel], environment: context.environment)
    let service = ServiceNotification(environment: context.environment)
    let address = try address()
    let security = try security()
    var configuration = try configuration(log)
    let loop = try EventLoop(name: "gateway")
    configuration.imageStore = try imageStore(loop)
    let gateway = Gateway(configuration, loop: loop, log: log, version: GatewayOptions.version)
    let stops = try Signals.stream(of: [.terminate, .interrupt], thenIgnored: true)
    do {
      try await gateway.begin()
    } catch let error as JobQueueError {
      await gateway.close()
      throw CommandFailure(Self.exitCode(of: error), error.message, advice: error.advice)
    }
    let beside = Task(executorPreference: loop) { await gateway.run() }
    let pages = MonitoringPages(
      metrics: { gateway.metrics() }, loops: [loop], readiness: { await gateway.readiness() })
    let metrics = try MetricsListener(at: try values[GatewayOptions.metrics], pages, context, log)
    let server = try serve(gateway, address, security)
    log.notice("Apps are served", ["address": .string(server.address.description)])
    let watchdog = Task { await service.keepWatchdog(on: loop) }
    service.ready()
    for await _ in stops { break }
    service.stopping()
    log.notice("Stopping: what was accepted is finished")
    gateway.drain()
    let isHurried = Mutex(false)
    let hurry = Task { for await _ in stops { isHurried.withLock { $0 = true } } }
    await server.idle(within: configuration.grace) { isHurried.withLock { $0 } }
    await gateway.endWaits()
    await server.idle(within: Self.shutdownGrace)
    hurry.cancel()
    await server.stop()
    await metrics.stop()
    beside.cancel()
    watchdog.cancel()
    await gateway.close()
    return .done
  }

  private static func exitCode(of error: JobQueueError) -> ExitCode {
    if (error.underlying as? PostgreSQLError)?.phase == .session { return .usage }
    return switch error.code {
    case .permission: .permission
    case .invalid: .usage
    case .server, .unexpectedAnswer: .internalError
    default: .unreachable
    }
  }

  // MARK: Parts

  private func address() throws -> ListenAddress {
    let address = try values[GatewayOptions.listen]
    let isBehindTLS = try values[GatewayOptions.behindTLS]
    let hasCertificate = try values[GatewayOptions.certificate] != nil
    guard !isBehindTLS || !hasCertificate else {
      throw CommandFailure.usage(
        "--behind-tls says that a proxy speaks TLS, and --tls-certificate that the gateway does",
        advice: "Give one of the two.")
    }
    guard address.isLoopback || isBehindTLS || hasCertificate else {
      throw CommandFailure.usage(
        "--listen \(address) lets other machines in, and tokens and photos would go over the network in plaintext",
        advice: "Give --tls-certificate and --tls-key, or --behind-tls where a proxy speaks TLS to the apps.")
    }
    return address
  }

  private func security() throws -> HTTPDaemon.TransportSecurity? {
    let (certificate, key) = (
      try values[GatewayOptions.certificate], try values[GatewayOptions.privateKey]
    )
    guard certificate != nil || key != nil else { return nil }
    guard let certificate, let key else {
      throw CommandFailure.usage("--tls-certificate and --tls-key are given together")
    }
    do throws(SystemError) {
      let chain = try FileContent.read(certificate, limit: 1 << 20)
      let secret = try SecretFile.read(key, environment: context.environment)
      return HTTPDaemon.TransportSecurity(
        certificate: String(decoding: chain, as: UTF8.self), key: secret.reveal())
    } catch {
      throw CommandFailure(ExitCode(of: error), "The certificate for apps cannot be used: \(error)")
    }
  }

  private func configuration(_ log: Log) throws -> GatewayConfiguration {
    var database = ConnectionConfiguration(
      try values[ServiceOptions.database], applicationName: "analysis-gateway")
    database.searchPath = ConnectionConfiguration.catalogOnly
    database.settings = ConnectionConfiguration.plainSession
    database.serverProof = try values[SharedOptions.databaseProof]
    var configuration = GatewayConfiguration(database: database)
    configuration.connections = try values[GatewayOptions.connections]
    configuration.deadline = try values[GatewayOptions.deadline]
    configuration.grace = try values[GatewayOptions.grace]
    let rate = try values[GatewayOptions.rate]
    configuration.uploadsEachMinute = rate == 0 ? nil : rate
    configuration.images = ImageLimits(
      maxBytes: try values[GatewayOptions.maxImage], maxDimension: try values[GatewayOptions.maxDimension])
    configuration.photoMemory = try values[GatewayOptions.photoMemory]
    configuration.listens = try values[GatewayOptions.hearEnded]
    configuration.keys = try keys()
    configuration.clients = try clients(log)
    configuration.origins = try values[GatewayOptions.origins]
    return configuration
  }

  /// As many connections as the limit of open files allows, less what is the program's own.
  private func clients(_ log: Log) throws -> Int {
    let listener = try values[GatewayOptions.metrics] == nil ? 0 : HTTPServer.Bounds().daemon.descriptors
    let connections = try values[GatewayOptions.connections]
    let store = try values[SharedOptions.imageStore] == nil ? 0 : ImageStore.connections
    let room = DescriptorLimit.raise() - Self.ownDescriptors - listener - store - max(0, connections - 8)
    guard room > 0 else {
      throw CommandFailure.usage(
        "the limit of open files leaves no room for apps", advice: "Raise it (LimitNOFILE, ulimit -n).")
    }
    guard let wished = try values[GatewayOptions.clients] else { return room }
    if wished > room {
      log.warning(
        "Fewer connections may be open: raise the limit of open files (LimitNOFILE, ulimit -n)",
        ["wished": .count(wished), "connections": .count(room)])
    }
    return min(wished, room)
  }

  private func keys() throws -> KeyRing? {
    guard let path = try values[GatewayOptions.keyFile] else { return nil }
    do throws(ImageEncryptionError) {
      return try KeyFile.read(path, environment: context.environment)
    } catch {
      throw CommandFailure(ExitCode(of: error), error.message, advice: error.advice)
    }
  }

  private func imageStore(_ loop: EventLoop) throws -> ImageStore? {
    guard let path = try values[SharedOptions.imageStore] else { return nil }
    do throws(SystemError) {
      return try ImageStore(file: path, environment: context.environment, loop: loop)
    } catch {
      throw CommandFailure(ExitCode(of: error), "The image store cannot be used: \(error)")
    }
  }

  private func serve(
    _ gateway: Gateway, _ address: ListenAddress, _ security: HTTPDaemon.TransportSecurity?
  ) throws -> HTTPServer {
    do throws(HTTPServingError) {
      return try gateway.serve(at: address, security: security)
    } catch {
      throw CommandFailure.usage(
        "--listen: \(error.description).",
        advice: security == nil
          ? "Name another address or port."
          : "Name another address or port, or look at the certificate and key.")
    }
  }
}
