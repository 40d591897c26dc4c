/// What a client does for all its requests.
public struct Configuration: Sendable {
  /// Which servers may be spoken to in plaintext.
  public enum PlainHTTP: Sendable {
    /// `localhost`, 127.0.0.0/8 and ::1 only.
    case loopbackOnly
    /// Any: tokens and images then cross the network readable to all on the way.
    case anywhere
  }

  /// By which way servers are reached.
  public enum Proxy: Sendable {
    /// Directly, whatever the environment says.
    case none
    /// As the variables `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy` say.
    case environment
    /// Through the proxy at an address.
    case url(String)
  }

  /// How many connections are kept open for later requests; at least the number of requests in flight,
  /// or connections are closed and opened again all the time.
  public var maximumConnections = 256
  /// How many connections a server may get; further requests wait for one to be free. 0 for no limit.
  public var maximumConnectionsPerHost = 0
  /// How long resolving, connecting and TLS may take together, within the deadline of the call.
  public var connectTimeout: Duration = .seconds(10)
  /// The most bytes of an answer's body: an analysis is some kilobytes.
  public var answerLimit = 1 << 20
  /// The most bytes of an answer's header, interim answers included.
  public var headerLimit = 64 << 10
  /// A file of certificate authorities (PEM) that replaces the system's.
  public var certificateAuthorityFile: String?
  /// The public keys of which a server has to have one, beside a valid certificate: each `sha256//` and the SHA-256 of
  /// its SubjectPublicKeyInfo in base64, as `CURLOPT_PINNEDPUBLICKEY` has it. None: any key will do.
  public var pinnedKeys: [String] = []
  /// Which servers may be spoken to without TLS.
  public var plainHTTP = PlainHTTP.loopbackOnly
  /// By which way servers are reached.
  public var proxy = Proxy.none
  /// Whether answers tell when the server's certificate ends, which costs a little with each connection.
  public var readsCertificates = false
  /// The `User-Agent` header.
  public var userAgent = "analysis-queue"

  /// The defaults above.
  public init() {}
}
