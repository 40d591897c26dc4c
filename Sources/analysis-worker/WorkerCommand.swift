import CommandLineTool
import Endpoint
import EventLoop
import FoundationEssentials
import Glibc
import HTTPServing
import HTTPTransfer
import Images
import PostgreSQL
import Queue
import Support
import Worker

/// Puts the worker together from its options, runs it, and tells how it ended.
struct WorkerCommand {
  let context: Context

  func run() async throws -> ExitCode {
    let log = Log.standardError(
      level: try context.values[ServiceOptions.logLevel], environment: context.environment)
    let sockets = try Sockets(context, log)
    let service = ServiceNotification(environment: context.environment)
    let loop = try EventLoop(name: "worker")
    // To send images takes as much of a thread's time as all that is done at the database.
    let calls = try EventLoop(name: "calls")
    let http = HTTPClient(loop: calls, configuration: try transfer(sockets))
    let owner = ProcessOwner.current()
    var configuration = try configuration(sockets)
    let store = try imageStore(calls)
    configuration.imageStore = store
    let worker = AnalysisWorker(
      configuration, clients: try clients(http), loop: loop, log: log, counters: Counters(),
      user: owner.user, host: owner.host, processID: getpid(), version: WorkerOptions.version,
      failpoints: try failpoints(loop, log))
    let stops = try Signals.stream(of: [.terminate, .interrupt], thenIgnored: true)
    let monitor = worker.monitor
    let pages = MonitoringPages(
      metrics: { await monitor.metrics() }, loops: [loop, calls], readiness: { await monitor.readiness() })
    let listener = try MetricsListener(
      at: try context.values[WorkerOptions.metrics], pages, context, log)
    let watchdog = Task { await service.keepWatchdog(on: loop, calls) }
    defer { watchdog.cancel() }
    do {
      let summary = try await worker.run(stops: announcing(stops, to: service)) { service.ready() }
      await listener.stop()
      await http.close()
      await store?.close()
      return try report(summary)
    } catch let error as WorkerError {
      await listener.stop()
      await http.close()
      await store?.close()
      throw CommandFailure(Self.exitCode(error.kind), error.description)
    }
  }

  static func exitCode(_ kind: WorkerError.Kind) -> ExitCode {
    switch kind {
    case .unreachable: .unreachable
    case .permission: .permission
    case .configuration: .usage
    case .fault: .internalError
    }
  }

  // MARK: Parts

  private func failpoints(_ loop: EventLoop, _ log: Log) throws -> Failpoints {
    do throws(WorkerError) {
      return try Failpoints.read(context.environment, loop: loop, log: log)
    } catch {
      throw CommandFailure(Self.exitCode(error.kind), error.description)
    }
  }

  private var settings: GivenSettings { GivenSettings(context.values) }

  private func configuration(_ sockets: Sockets) throws -> WorkerConfiguration {
    let values = context.values
    var configuration = WorkerConfiguration(database: try settings.database())
    configuration.kinds = try settings.kinds()
    configuration.concurrency = sockets.concurrency
    configuration.prefetch = try values[WorkerOptions.prefetch]
    configuration.imageBytes = try values[WorkerOptions.imageMemory]
    configuration.callDeadline = try values[WorkerOptions.deadline]
    configuration.hold(leases: try values[WorkerOptions.leaseDuration])
    configuration.idlePoll = try values[WorkerOptions.poll]
    configuration.grace = try values[WorkerOptions.grace]
    configuration.listens = try values[WorkerOptions.listen]
    configuration.notifiesEnded = try values[WorkerOptions.notifyEnded]
    configuration.webhooks.allowsPrivateAddresses = try values[WorkerOptions.webhooksToPrivate]
    configuration.imageKeys = try imageKeys()
    configuration.requiresEncryption = try values[WorkerOptions.requireEncryption]
    guard !configuration.requiresEncryption || configuration.imageKeys != nil else {
      throw CommandFailure(
        .usage, "--require-encryption refuses every image that this worker could send.",
        advice: "Give the keys with --key-file.")
    }
    if try values[WorkerOptions.drain] { configuration.drainHorizon = try values[WorkerOptions.horizon] }
    return configuration
  }

  private func imageKeys() throws -> ImageKeys? {
    guard let path = try context.values[WorkerOptions.keyFile] else { return nil }
    let environment = context.environment
    let read = { @Sendable () throws(ImageEncryptionError) -> KeyRing in
      try KeyFile.read(path, environment: environment)
    }
    do throws(ImageEncryptionError) {
      return ImageKeys(try read(), read: read)
    } catch {
      throw CommandFailure(ExitCode(of: error), error.message, advice: error.advice)
    }
  }

  private func imageStore(_ loop: EventLoop) throws -> ImageStore? {
    guard let path = try context.values[SharedOptions.imageStore] else { return nil }
    do throws(SystemError) {
      return try ImageStore(file: path, environment: context.environment, loop: loop)
    } catch {
      throw CommandFailure(ExitCode(of: error), "The image store cannot be used: \(error)")
    }
  }

  private func transfer(_ sockets: Sockets) throws -> HTTPTransfer.Configuration {
    var configuration = try settings.transfer()
    configuration.maximumConnections = sockets.keptOpen
    if let path = try context.values[WorkerOptions.certificate] {
      do throws(SystemError) {
        let certificate = try ClientCertificate.read(path, environment: context.environment)
        configuration.clientIdentity = ClientIdentity(pem: certificate.pem.bytes)
      } catch {
        throw CommandFailure(
          ExitCode(of: error), "The certificate for the endpoint cannot be used: \(error)")
      }
    }
    return configuration
  }

  /// One client for each address; types that share an address share its token, window and breaker.
  private func clients(_ http: HTTPClient) throws -> [AnalysisKind: ModelClient] {
    let addresses = try settings.addresses()
    var made: [String: ModelClient] = [:]
    return try addresses.mapValues { address in
      if let client = made[address] { return client }
      let client = try client(address, http)
      made[address] = client
      return client
    }
  }

  private func client(_ address: String, _ http: HTTPClient) throws -> ModelClient {
    let endpoint = try settings.endpoint(address)
    var credentials: (@Sendable () throws -> Credentials)?
    if let path = try context.values[WorkerOptions.credentials] {
      let environment = context.environment
      do {
        // Read once now, so that a wrong file is reported at the start and not at the first call.
        _ = try Credentials.read(path, environment: environment)
      } catch {
        throw CommandFailure(error.code == .notPrivate ? .permission : .unreadableInput, error.description)
      }
      credentials = { try Credentials.read(path, environment: environment) }
    }
    return ModelClient(endpoint: endpoint, http: http, credentials: credentials)
  }

  // MARK: Service manager

  private func announcing(_ signals: AsyncStream<Signal>, to service: ServiceNotification) -> AsyncStream<
    Void
  > {
    AsyncStream { continuation in
      let task = Task {
        for await _ in signals {
          service.stopping()
          continuation.yield()
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  private func report(_ summary: WorkerSummary) throws -> ExitCode {
    guard try context.values[WorkerOptions.drain] else { return .done }
    context.console.say(
      "\(summary.completed) analysed, \(summary.retried) attempts tried again, \(summary.dead) dead."
    )
    for line in summary.left { context.console.say("Left: \(line).") }
    return summary.isParked || summary.unstored > 0 ? .tryLater : .done
  }
}

/// How many calls may be in flight and how many of their connections are kept, as asked for and as far as the
/// system lets this process have sockets open.
struct Sockets {
  let concurrency: Int
  let keptOpen: Int

  /// Connections that are kept at least, when there is room: those of several endpoints are used in turn.
  private static let usuallyKept = 256

  /// Raises the limit of open files as far as it goes, and says in the log when that is not enough.
  init(_ context: Context, _ log: Log) throws {
    let wished = try context.values[WorkerOptions.concurrency]
    // Whoever reads the metrics, however many, takes no socket from a call.
    let listener =
      try context.values[WorkerOptions.metrics] == nil ? 0 : HTTPServer.Bounds().daemon.descriptors
    // Only a worker with keys tells webhooks.
    let webhooks = try context.values[WorkerOptions.keyFile] == nil ? 0 : WebhookSettings().connections
    let store = try context.values[SharedOptions.imageStore] == nil ? 0 : ImageStore.connections
    let limit = DescriptorLimit.raise() - listener - webhooks - store
    do throws(WorkerError) {
      let room = try DescriptorBudget.calls(limit: limit)
      concurrency = min(wished, room)
      keptOpen = min(max(Self.usuallyKept, wished), room)
    } catch {
      throw CommandFailure(WorkerCommand.exitCode(error.kind), error.description)
    }
    guard concurrency < wished else { return }
    log.warning(
      "Fewer calls may be in flight: raise the limit of open files (LimitNOFILE, ulimit -n)",
      [
        "wished": .int(Int64(wished)), "concurrency": .int(Int64(concurrency)), "limit": .int(Int64(limit)),
      ])
  }
}
