import Cmicrohttpd
import Glibc
import Synchronization

/// The stand-in for an analysis endpoint: answers as one does until it is stopped.
public final class EndpointServer: Sendable {
  /// The port it listens on.
  public let port: UInt16
  /// Where clients reach it, such as `http://127.0.0.1:8080`.
  public let baseURL: String
  private let core: EndpointCore
  /// The address of the `MHD_Daemon`; nil once it is stopped.
  private let daemon: Mutex<UInt?>

  /// Starts to serve.
  ///
  /// - Throws: `EndpointError` if the configuration is not valid or the address cannot be listened on.
  public init(_ configuration: EndpointConfiguration, clock: EndpointClock = .system) throws(EndpointError) {
    let core = try EndpointCore(configuration, clock: clock)
    guard let started = Self.start(core) else {
      core.held.close()
      throw EndpointError(
        .cannotListen,
        "cannot listen on \(configuration.host):\(configuration.port); is the address numeric, the port free "
          + "and, with TLS, the certificate valid?")
    }
    self.core = core
    port = mhd_port(started)
    let scheme = configuration.transportSecurity == nil ? "http" : "https"
    baseURL = "\(scheme)://\(configuration.host):\(port)"
    daemon = Mutex(UInt(bitPattern: started))
  }

  deinit { stop() }

  /// Counts since the start.
  public var statistics: EndpointStatistics { core.statistics.snapshot(of: core) }

  /// Stops: no new connection, held answers go out at once, requests that are being answered get a second to
  /// finish, the rest is cut. Returns when all is closed; a second call does nothing.
  public func stop() {
    let running = daemon.withLock { $0.take() }
    guard let running, let daemon = OpaquePointer(bitPattern: running) else { return }
    let listener = MHD_quiesce_daemon(daemon)
    core.held.close()
    // Looked at, not waited for: the library tells of a request's end on its own threads only, after the
    // answer's last byte, and has nothing that a stopping caller could wait on.
    let deadline = ContinuousClock.now + .seconds(1)
    while core.statistics.inFlight > 0, ContinuousClock.now < deadline {
      usleep(2000)
    }
    MHD_stop_daemon(daemon)
    if listener >= 0 { close(listener) }
  }

  private static func start(_ core: EndpointCore) -> OpaquePointer? {
    let configuration = core.configuration
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = configuration.port.bigEndian
    guard inet_pton(AF_INET, configuration.host, &address.sin_addr) == 1 else { return nil }
    var options = [
      // Half of it is the first read buffer of a connection: an image of 120 KB arrives in few reads.
      mhd_option_memory(256 << 10),
      mhd_option_connections(8192),
      mhd_option_idle(120),
    ]
    if configuration.threads > 1 { options.append(mhd_option_threads(configuration.threads)) }
    guard let security = configuration.transportSecurity else {
      return start(core, mhd_flags_poll, &address, options)
    }
    // The texts are read while the daemon starts and not afterwards.
    var certificate = Array(security.certificate.utf8) + [0]
    var key = Array(security.key.utf8) + [0]
    return certificate.withUnsafeMutableBytes { certificate in
      key.withUnsafeMutableBytes { key in
        guard let certificate = certificate.baseAddress, let key = key.baseAddress else { return nil }
        let secured = options + [mhd_option_certificate(certificate), mhd_option_key(key)]
        return start(core, mhd_flags_poll | mhd_flags_tls, &address, secured)
      }
    }
  }

  private static func start(
    _ core: EndpointCore, _ flags: UInt32, _ address: inout sockaddr_in, _ options: [MHD_OptionItem]
  ) -> OpaquePointer? {
    let options = options + [mhd_option_end()]
    // Not retained: the server owns the core and stops the daemon before it lets go of it.
    let context = Unmanaged.passUnretained(core).toOpaque()
    return withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        mhd_start(flags, requestAdvanced, requestEnded, context, address, options)
      }
    }
  }
}

/// Called by libmicrohttpd when headers are there, for each piece of a body, and when all is there.
private func requestAdvanced(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ path: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
  _ count: UnsafeMutablePointer<Int>?, _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let context, let connection, let path, let method, let count, let state else { return mhd_no }
  let handler = RequestHandler(core: Unmanaged<EndpointCore>.fromOpaque(context).takeUnretainedValue())
  guard let known = state.pointee else {
    let exchange = handler.begin(
      connection, method: String(cString: method), path: String(cString: path))
    state.pointee = Unmanaged.passRetained(exchange).toOpaque()
    return mhd_yes
  }
  let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
  if count.pointee > 0, let data {
    exchange.receive(data, count.pointee)
    count.pointee = 0
    return mhd_yes
  }
  return handler.advance(exchange, connection) ? mhd_yes : mhd_no
}

/// Called by libmicrohttpd once for each request that has begun.
private func requestEnded(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
  guard let context, let state, let known = state.pointee else { return }
  state.pointee = nil
  let exchange = Unmanaged<Exchange>.fromOpaque(known).takeRetainedValue()
  RequestHandler(core: Unmanaged<EndpointCore>.fromOpaque(context).takeUnretainedValue()).end(exchange)
}

/// What all requests share.
final class EndpointCore: Sendable {
  let configuration: EndpointConfiguration
  let clock: EndpointClock
  let accounts: AccountDirectory
  let cache: AnalysisCache
  let buffers = ImageBuffers()
  let tries = TryCounter()
  let statistics = Statistics()
  let log: UploadLog?
  let held: HeldConnections

  init(_ configuration: EndpointConfiguration, clock: EndpointClock) throws(EndpointError) {
    try configuration.validate()
    guard Randomness.isReady else { throw EndpointError(.system, "the system gives no random bytes") }
    self.configuration = configuration
    self.clock = clock
    accounts = try AccountDirectory(configuration: configuration, clock: clock)
    cache = AnalysisCache(
      capacity: configuration.cacheCapacity, decodes: configuration.decodesPictures,
      advises: configuration.dialect == .server)
    log = try configuration.logPath.map { path throws(EndpointError) in try UploadLog(path: path) }
    held = try HeldConnections()
  }
}
