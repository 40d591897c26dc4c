internal import Cmicrohttpd
internal import Glibc
internal import Synchronization

/// libmicrohttpd's listener and its threads: what `HTTPServer` and the development endpoint stand on.
///
/// What it calls runs on its threads, and must not block them. Dropped, it stops.
public final class HTTPDaemon: Sendable {
  /// How much the clients may take of it.
  public struct Bounds: Sendable {
    /// Threads that serve connections.
    public var threads = 1
    /// Bytes that each connection may use for its headers and buffers; a longer header is answered with 431.
    public var connectionBytes = 32 << 10
    /// Connections at once.
    public var connections = 32
    /// What becomes of a connection beyond them.
    public var surplus = Surplus.closesOldest
    /// Seconds after which a connection is closed on which nothing comes or goes.
    public var idleSeconds = 30
    /// How fast a client has to send its request; nil for as slowly as `idleSeconds` allows.
    public var leastPace: LeastPace?

    /// The bounds for a server with few clients.
    public init() {}

    /// Connections beyond the most: those that are just being closed, answered or refused.
    private var spare: Int { surplus == .waits ? 0 : 16 }
    /// Connections that the library takes.
    var greatest: Int { connections + spare }
    /// Descriptors that the daemon has open at most: its connections, its listener, and what its thread is woken by.
    public var descriptors: Int { greatest + 4 }
  }

  /// What becomes of a connection when there are as many as there may be.
  public enum Surplus: Sendable {
    /// It comes in, and the oldest is closed for which no answer is being made.
    case closesOldest
    /// It waits until one has ended: clients that send nothing, or read nothing, could make it wait for long.
    case waits
    /// It comes in where there is one that has asked for nothing, or whose request was answered, which is closed. Else
    /// it is answered that there are too many.
    case isRefused
  }

  /// How fast a client has to send its request. A whole body has two minutes.
  public struct LeastPace: Sendable, Equatable {
    /// How long nothing may come, and how long the headers may take.
    public var silence: Duration
    /// Bytes of the body that come each second at least, over the same time.
    public var bytesPerSecond: Int

    /// A pace with its parts.
    public init(silence: Duration = .seconds(10), bytesPerSecond: Int = 1000) {
      self.silence = silence
      self.bytesPerSecond = bytesPerSecond
    }
  }

  /// A certificate with its key, both PEM text.
  public struct TransportSecurity: Sendable {
    let certificate: String
    let key: String

    /// A certificate chain with its key.
    public init(certificate: String, key: String) {
      self.certificate = certificate
      self.key = key
    }
  }

  /// Where it listens, with the port that the system chose.
  public let address: ListenAddress
  private let core: DaemonCore
  private let state: Mutex<State>

  private struct State {
    /// The address of the `MHD_Daemon`; nil once it is stopped.
    var daemon: UInt?
    /// The listening socket, once the library has given it away.
    var listener: Int32 = -1
  }

  /// Starts to serve.
  ///
  /// - Parameter accept: What each request is, as soon as its headers are there.
  /// - Throws: `HTTPServingError` where the address cannot be listened on.
  public init(
    _ address: ListenAddress, _ bounds: Bounds = Bounds(), security: TransportSecurity? = nil,
    accept: @escaping @Sendable (HTTPConnection, _ method: String, _ path: String) -> HTTPExchange
  ) throws(HTTPServingError) {
    let connections =
      bounds.surplus == .waits
      ? nil : OpenConnections(atMost: bounds.connections, closesOldest: bounds.surplus == .closesOldest)
    let core = DaemonCore(accept, connections)
    let started = address.withSocketAddress { socketAddress, isIPv6 in
      Self.start(core, socketAddress, isIPv6, bounds, security)
    }
    guard let daemon = started ?? nil else {
      throw HTTPServingError(
        started == nil
          ? "\(address.host) is not a numeric address" : "cannot listen on \(address): \(Self.lastError)")
    }
    self.core = core
    self.address = ListenAddress(host: address.host, port: mhd_port(daemon))
    state = Mutex(State(daemon: UInt(bitPattern: daemon)))
  }

  deinit { stop() }

  /// Takes no more connections; those that there are go on.
  public func quiesce() {
    state.withLock { state in
      guard state.listener < 0, let daemon = state.daemon.flatMap(OpaquePointer.init(bitPattern:)) else {
        return
      }
      state.listener = MHD_quiesce_daemon(daemon)
    }
  }

  /// Ends the connections of clients that send a request more slowly than they have to. To be called now and then.
  ///
  /// - Parameter answer: What they are sent before, a whole answer with its status line; nil for nothing.
  /// - Returns: How many there were.
  func endSlowClients(_ least: LeastPace, answer: [UInt8]?) -> Int {
    core.connections?.endSlow(least, now: .now, answer: answer) ?? 0
  }

  /// The connections for which an answer is being made, and whose clients have closed them: the library does not look
  /// at those that are suspended.
  func abandonedConnections() -> [HTTPConnection] { core.connections?.abandoned() ?? [] }

  /// Connections on which a body comes in, or an answer is being made.
  var busyConnections: Int { core.connections?.busy ?? 0 }

  /// Closes every connection and waits for the threads to end: it blocks. Whoever has suspended connections resumes
  /// them before and suspends none afterwards. A second call does nothing.
  public func stop() {
    let (daemon, listener) = state.withLock { state in
      defer { state = State(daemon: nil) }
      return (state.daemon.flatMap(OpaquePointer.init(bitPattern:)), state.listener)
    }
    guard let daemon else { return }
    MHD_stop_daemon(daemon)
    if listener >= 0 { close(listener) }
  }

  private static var lastError: String {
    switch errno {
    case EADDRINUSE: "another program listens there"
    case EADDRNOTAVAIL: "this machine has no such address"
    case EACCES: "that port needs a right that this program does not have"
    case let code: "errno \(code)"
    }
  }

  private static func start(
    _ core: DaemonCore, _ address: UnsafePointer<sockaddr>, _ isIPv6: Bool, _ bounds: Bounds,
    _ security: TransportSecurity?
  ) -> OpaquePointer? {
    var options = [
      mhd_option_memory(bounds.connectionBytes), mhd_option_connections(bounds.greatest),
      mhd_option_idle(bounds.idleSeconds),
    ]
    if bounds.threads > 1 { options.append(mhd_option_threads(bounds.threads)) }
    // Not retained: the daemon's owner has the core, and stops the daemon before it lets go of it.
    let context = Unmanaged.passUnretained(core).toOpaque()
    options.append(mhd_option_target(targetArrived, context))
    if core.connections != nil { options.append(mhd_option_notify(connectionChanged, context)) }
    let flags = isIPv6 ? mhd_flags_poll | mhd_flags_ipv6 : mhd_flags_poll
    guard let security else {
      return mhd_start(flags, requestAdvanced, requestEnded, context, address, options + [mhd_option_end()])
    }
    // The texts are read while the daemon starts and not afterwards.
    var certificate = Array(security.certificate.utf8) + [0]
    var key = Array(security.key.utf8) + [0]
    return certificate.withUnsafeMutableBytes { certificate in
      key.withUnsafeMutableBytes { key in
        guard let certificate = certificate.baseAddress, let key = key.baseAddress else { return nil }
        let secured = options + [mhd_option_certificate(certificate), mhd_option_key(key), mhd_option_end()]
        return mhd_start(flags | mhd_flags_tls, requestAdvanced, requestEnded, context, address, secured)
      }
    }
  }
}

/// One request from its first line to its end. Used by the thread that serves its connection, one call at a time.
open class HTTPExchange {
  /// A request whose headers are there.
  public init() {}

  /// Called first. It may queue an answer already: then the body is not read, and nothing else is called but `end`.
  ///
  /// - Returns: Whether the connection stays open.
  open func begin(_ connection: HTTPConnection) -> Bool { true }

  /// Takes the next bytes of the body.
  ///
  /// - Returns: Whether the connection stays open.
  open func receive(_ bytes: UnsafeRawBufferPointer) -> Bool { true }

  /// The whole body is there, or the connection goes on after it was suspended: queues the answer, or suspends it. One
  /// that was suspended in `begin` goes on with its body, if neither is done.
  ///
  /// - Returns: Whether the connection stays open.
  open func advance(_ connection: HTTPConnection) -> Bool { false }

  /// The request is over, whether it was answered or not.
  open func end() {}
}

/// Why a server could not be started.
public struct HTTPServingError: Error, Sendable, CustomStringConvertible {
  /// What happened, to which address.
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// What libmicrohttpd's callbacks find their way by.
private final class DaemonCore: Sendable {
  let accept: @Sendable (HTTPConnection, String, String) -> HTTPExchange
  let connections: OpenConnections?

  init(
    _ accept: @escaping @Sendable (HTTPConnection, String, String) -> HTTPExchange,
    _ connections: OpenConnections?
  ) {
    self.accept = accept
    self.connections = connections
  }
}

/// What a request has instead of an exchange until its headers are there, where its path holds a zero byte: the library
/// gives the path only up to there. No address of an object, and never read through: it is only compared.
private var pathWithZero: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: 1) }

/// Called by libmicrohttpd with the target of a request as it was sent. What it answers is the request's state.
private func targetArrived(
  _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>, _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  if let context, let connection {
    let connections = Unmanaged<DaemonCore>.fromOpaque(context).takeUnretainedValue().connections
    connections?.requestBegan(HTTPConnection(connection, among: connections))
  }
  let path = String(cString: target).prefix { $0 != "?" }
  return path.contains("%00") ? pathWithZero : nil
}

/// A request for a path that holds a zero byte, which no page has.
private final class CutPathExchange: HTTPExchange {
  override func begin(_ connection: HTTPConnection) -> Bool {
    var answer = HTTPAnswer.text(400, "A zero byte is in the path, and is no part of any name.")
    answer.headers.append(("Connection", "close"))
    return connection.answer(answer.status, answer.allHeaders, answer.body)
  }
}

/// Called by libmicrohttpd when headers are there, for each piece of a body, and when all is there.
private func requestAdvanced(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ path: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
  _ count: UnsafeMutablePointer<Int>?, _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let context, let connection, let path, let method, let count, let state else { return mhd_no }
  let core = Unmanaged<DaemonCore>.fromOpaque(context).takeUnretainedValue()
  let connected = HTTPConnection(connection, among: core.connections)
  if state.pointee == pathWithZero {
    let exchange = CutPathExchange()
    state.pointee = Unmanaged.passRetained(exchange).toOpaque()
    return exchange.begin(connected) ? mhd_yes : mhd_no
  }
  guard let known = state.pointee else {
    let exchange = core.accept(connected, String(cString: method), String(cString: path))
    state.pointee = Unmanaged.passRetained(exchange).toOpaque()
    // Before it begins: one that keeps its connection waiting for something says so itself.
    connected.bodyBegins()
    return exchange.begin(connected) ? mhd_yes : mhd_no
  }
  let exchange = Unmanaged<HTTPExchange>.fromOpaque(known).takeUnretainedValue()
  if count.pointee > 0, let data {
    core.connections?.received(count.pointee, connected)
    let isWanted = exchange.receive(UnsafeRawBufferPointer(start: data, count: count.pointee))
    count.pointee = 0
    return isWanted ? mhd_yes : mhd_no
  }
  core.connections?.keep(connected)
  return exchange.advance(connected) ? mhd_yes : mhd_no
}

/// Called by libmicrohttpd once for each request that has begun.
private func requestEnded(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
  guard let context, let connection, let state, let known = state.pointee else { return }
  state.pointee = nil
  guard known != pathWithZero else { return }
  let connections = Unmanaged<DaemonCore>.fromOpaque(context).takeUnretainedValue().connections
  connections?.letGo(HTTPConnection(connection, among: connections))
  Unmanaged<HTTPExchange>.fromOpaque(known).takeRetainedValue().end()
}

/// Called by libmicrohttpd when a connection was taken, and before its socket is closed.
private func connectionChanged(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ kept: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ change: MHD_ConnectionNotificationCode
) {
  guard let context, let connection else { return }
  let connections = Unmanaged<DaemonCore>.fromOpaque(context).takeUnretainedValue().connections
  let connected = HTTPConnection(connection, among: connections)
  if UInt32(change.rawValue) == mhd_connection_started {
    connections?.began(connected)
  } else {
    connections?.ended(connected)
  }
}
