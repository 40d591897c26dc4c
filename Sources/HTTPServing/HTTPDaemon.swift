internal import Cmicrohttpd
internal import Glibc

/// libmicrohttpd's listener and its threads: what `HTTPServer` and the development endpoint stand on.
///
/// What it calls runs on its threads, and must not block them. Dropped, it stops.
public final class HTTPDaemon: Sendable {
  /// How much the clients may take of it.
  public struct Bounds: Sendable {
    /// Threads that serve connections; ``processors`` where there may be many.
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
    /// Descriptors that the daemon has open at most: its connections, and its threads' listeners, their epoll sets, and
    /// what they are woken by.
    public var descriptors: Int { greatest + 4 * threads }
    /// How many processors there are.
    public static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
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
    var silence: Duration
    /// Bytes of the body that come each second at least, over the same time.
    var bytesPerSecond: Int

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

  /// What a client of TLS has to understand: 1.2 or 1.3, with forward secrecy and authenticated ciphers (as GnuTLS names
  /// them; the same as our own calls).
  private static let priorities =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-CIPHER-ALL:+AES-128-GCM:"
    + "+AES-256-GCM:+CHACHA20-POLY1305:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1"

  /// Where it listens, with the port that the system chose.
  public let address: ListenAddress
  private let shared: DaemonThread.Shared
  private let threads: [DaemonThread]

  /// Starts to serve.
  ///
  /// - Parameters:
  ///   - refuse: What is answered to a request that may be read in two ways, with why.
  ///   - accept: What each request is, as soon as its headers are there.
  /// - Throws: `HTTPServingError` where the address cannot be listened on.
  public init(
    _ address: ListenAddress, _ bounds: Bounds = Bounds(), security: TransportSecurity? = nil,
    refuse: @escaping @Sendable (_ fault: String) -> HTTPAnswer = { .text(400, $0) },
    accept: @escaping @Sendable (HTTPConnection, _ method: String, _ path: String) -> HTTPExchange
  ) throws(HTTPServingError) {
    let connections =
      bounds.surplus == .waits
      ? nil : OpenConnections(atMost: bounds.connections, closesOldest: bounds.surplus == .closesOldest)
    shared = DaemonThread.Shared(accept: accept, refuse: refuse, connections: connections)
    let listener = try address.listen()
    defer { close(listener) }
    self.address = ListenAddress(host: address.host, port: ListenAddress.port(of: listener))
    var threads: [DaemonThread] = []
    for _ in 0..<bounds.threads {
      guard let thread = DaemonThread(shared),
        Self.start(thread, fcntl(listener, F_DUPFD_CLOEXEC, 0), bounds, security)
      else {
        for thread in threads { thread.beginToStop() }
        for thread in threads { thread.join() }
        throw HTTPServingError(
          "cannot serve at \(address): "
            + (security == nil
              ? "the system gives no thread or socket" : "the certificate or its key is not taken"))
      }
      threads.append(thread)
    }
    self.threads = threads
  }

  deinit { stop() }

  /// Takes no more connections; those that there are go on.
  public func quiesce() { for thread in threads { thread.quiesce() } }

  /// Ends the connections of clients that send a request more slowly than they have to. To be called now and then.
  ///
  /// - Parameter answer: What they are sent before, a whole answer with its status line; nil for nothing.
  /// - Returns: How many there were.
  func endSlowClients(_ least: LeastPace, answer: [UInt8]?) -> Int {
    shared.connections?.endSlow(least, now: .now, answer: answer) ?? 0
  }

  /// The connections for which an answer is being made, and whose clients have broken them off: the library does not
  /// look at those that are suspended.
  func abandonedConnections() -> [HTTPConnection] { shared.connections?.abandoned() ?? [] }

  /// Connections on which a body comes in, or an answer is being made.
  var busyConnections: Int { shared.connections?.busy ?? 0 }

  /// Closes every connection and waits for the threads to end: it blocks. Whoever has suspended connections resumes
  /// them before and suspends none afterwards. A second call does nothing.
  public func stop() {
    for thread in threads { thread.beginToStop() }
    for thread in threads { thread.join() }
  }

  private static func start(
    _ thread: DaemonThread, _ listener: Int32, _ bounds: Bounds, _ security: TransportSecurity?
  ) -> Bool {
    // Where connections are counted, this bounds what is accepted before others are closed for it.
    let greatest = bounds.surplus == .waits ? bounds.greatest / bounds.threads : bounds.greatest
    let options = [
      mhd_option_memory(bounds.connectionBytes), mhd_option_connections(max(1, greatest)),
      mhd_option_idle(bounds.idleSeconds),
    ]
    guard let security else { return thread.start(listener, mhd_flags, options) }
    // The texts are read while the daemon starts and not afterwards.
    var certificate = Array(security.certificate.utf8) + [0]
    var key = Array(security.key.utf8) + [0]
    return certificate.withUnsafeMutableBytes { certificate in
      key.withUnsafeMutableBytes { key in
        priorities.withCString { priorities in
          guard let certificate = certificate.baseAddress, let key = key.baseAddress else { return false }
          return thread.start(
            listener, mhd_flags | mhd_flags_tls,
            options + [
              mhd_option_certificate(certificate), mhd_option_key(key), mhd_option_priorities(priorities),
            ])
        }
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
  /// that was suspended in `begin` goes on with its body, if neither is done; of that, the part that has come already is
  /// lost with the connection where the client has closed its side by then.
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
