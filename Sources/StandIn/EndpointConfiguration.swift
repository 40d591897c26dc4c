import FoundationEssentials
import Support

/// Everything the development endpoint can be told before it starts.
struct EndpointConfiguration: Sendable {
  /// The variants of the API.
  enum Dialect: String, Sendable, CaseIterable {
    /// As the endpoint's integration guide says; without refresh tokens.
    case guide
    /// As the real endpoint's server does, its odd values included.
    case server

    /// A time, seconds since 1970, as the dialect writes it: the guide's client reads no fraction of a second.
    func moment(_ seconds: Double) -> String {
      let time = UnixTime(secondsSince1970: seconds)
      return self == .guide ? time.rfc3339Seconds : time.rfc3339
    }
  }

  /// The certificate and private key of a TLS listener, both PEM text.
  struct TransportSecurity: Sendable {
    var certificate: String
    var key: String
  }

  /// The numeric IPv4 address to listen on.
  var host = "127.0.0.1"
  /// The port to listen on; 0 lets the system choose.
  var port: UInt16 = 0
  /// Threads that serve connections. One thread carries far more than one worker sends; more help only
  /// while many different images are decoded for the first time.
  var threads = 1
  /// Time between the end of an upload and its answer; it holds no thread.
  var delay: Duration = .zero
  /// Which variant of the API it speaks.
  var dialect = Dialect.server
  /// Life of an access token. The real endpoint's live one hour.
  var tokenLifetime: Duration = .seconds(3600)
  /// Life of a refresh token. The real endpoint's live seven days.
  var refreshLifetime: Duration = .seconds(7 * 86400)
  /// Whether an analysis without a token is refused.
  var requiresToken = false
  /// Analyses a month for each account on the free plan; nil is no limit.
  var limitPerUser: Int?
  /// Accounts that exist from the start.
  var accounts: [NewAccount] = []
  /// Which uploads are struck by which failure.
  var faults = FaultPlan.none
  /// Seconds in the Retry-After header of the failures that carry one.
  var retryAfter = 1
  /// How long a request struck by `timeout` is held before its connection is closed.
  var hangLimit: Duration = .seconds(600)
  /// Pause between two pieces of a dripped body.
  var dripInterval: Duration = .milliseconds(200)
  /// File that gets one JSON line for each upload; nil writes none.
  var logPath: String?
  /// Serves TLS when set.
  var transportSecurity: TransportSecurity?
  /// Whether pictures are decoded. Without, conditions are drawn from the image's digest, which keeps the
  /// endpoint fast when a measurement sends many thousand different images: decoding one of 120 KB takes
  /// about 1.1 ms.
  var decodesPictures = true
  /// Analyses of different images kept in memory.
  var cacheCapacity = 65_536

  /// The defaults: a free port of the loopback interface, no accounts, no failures.
  init() {}

  /// Whether no other machine can reach it.
  var isLoopback: Bool { host.hasPrefix("127.") }

  func validate() throws(EndpointError) {
    guard (1...64).contains(threads) else {
      throw EndpointError(.configuration, "threads is \(threads); give 1 to 64")
    }
    guard delay >= .zero, tokenLifetime > .zero, refreshLifetime > .zero, dripInterval >= .zero else {
      throw EndpointError(.configuration, "a duration is negative, or a token would never be valid")
    }
    guard cacheCapacity > 0 else {
      throw EndpointError(.configuration, "the cache holds \(cacheCapacity) analyses; give 1 or more")
    }
    if let limitPerUser, limitPerUser < 0 {
      throw EndpointError(.configuration, "the limit per user is \(limitPerUser); give 0 or more")
    }
    guard retryAfter >= 0 else {
      throw EndpointError(.configuration, "Retry-After is \(retryAfter) seconds; give 0 or more")
    }
  }
}

/// Where the endpoint takes the time of day from: tokens expire and months begin by it.
struct EndpointClock: Sendable {
  let read: @Sendable () -> Double

  /// A clock that answers seconds since 1970, UTC.
  init(_ read: @escaping @Sendable () -> Double) {
    self.read = read
  }

  static let system = EndpointClock { UnixTime.now.secondsSince1970 }

  var now: Double { read() }
}

/// Files that are read whole.
enum TextFile {
  /// The text of a file.
  ///
  /// - Throws: `EndpointError` if it cannot be read or is not UTF-8.
  static func read(_ path: String) throws(EndpointError) -> String {
    guard let data = try? Data(contentsOf: URL(filePath: path)) else {
      throw EndpointError(.unreadable, "'\(path)' cannot be read; does it exist, and may this user read it?")
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw EndpointError(.unreadable, "'\(path)' is not UTF-8 text")
    }
    return text
  }
}

/// Why the development endpoint could not start, or an option of it means nothing.
struct EndpointError: Error, CustomStringConvertible, Sendable {
  /// What kind of thing went wrong.
  enum Code: Sendable {
    /// A value of the configuration is out of its range or contradicts another.
    case configuration
    /// A file named by the configuration cannot be read or understood.
    case unreadable
    /// The address or port cannot be listened on.
    case cannotListen
    /// The operating system refused a resource.
    case system
  }

  /// What kind of thing went wrong.
  let code: Code
  /// What happened, to what, and what to do about it.
  let description: String

  init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}
