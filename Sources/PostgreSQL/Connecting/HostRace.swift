internal import EventLoop
internal import Glibc
import Support

/// Connects to the first of a connection string's servers that takes us.
///
/// libpq's own way through a list of servers waits for one that is frozen until the time is over. Here one that
/// says nothing for `patience` goes on being waited for, and the others are tried meanwhile, again and again.
struct HostRace {
  /// How long a server may say nothing before the others are tried too.
  static let patience: Duration = .seconds(2)
  /// The pause before the others are tried again.
  static let pause: Duration = .milliseconds(500)

  let configuration: ConnectionConfiguration
  let until: ContinuousClock.Instant
  /// Whether nobody waits for the connection any more.
  let isOver: () -> Bool

  /// The one that goes through the servers; nil between two rounds.
  private var front: ConnectCandidate?
  /// Those whose server says nothing.
  private var silent: [ConnectCandidate] = []
  /// All servers, and what they have to prove.
  private var all: HostList?
  /// The servers of each round: all but the silent ones; nil until the first has begun.
  private var servers: HostList?
  /// When the next round begins.
  private var roundAt: ContinuousClock.Instant?
  /// Why the last round led to nothing.
  private var lastError: PostgreSQLError?

  init(
    _ configuration: ConnectionConfiguration, until: ContinuousClock.Instant, isOver: @escaping () -> Bool
  ) {
    self.configuration = configuration
    self.until = until
    self.isOver = isOver
  }

  /// Runs until one is up, all have failed, or the time is over.
  mutating func run() throws(PostgreSQLError) -> FreshConnection {
    front = try ConnectCandidate(
      configuration.parameters, isExpanded: true, configuration)
    servers = front?.servers
    // Nothing has been said yet: libpq has only begun to knock.
    if configuration.serverProof == .verified, let stricter = try servers?.verified() {
      front = nil
      servers = stricter
      try begin(stricter)
    }
    all = servers
    while true {
      guard !isOver() else { throw PostgreSQLError(.cancelled, "Connecting was given up.") }
      guard EventLoop.now < until else { throw ConnectFailure.timeout(after: lastError) }
      news: for candidate in waitForNews() {
        switch candidate.step() {
        case .goesOn: break
        case .demands(let settings):
          try beginAnew(with: settings)
          break news
        case .up(let connection): return connection
        case .failed(let error, let othersMayDo): try failed(candidate, error, othersMayDo)
        }
      }
      try leaveSilent()
      if let roundAt, let servers, EventLoop.now >= roundAt { try begin(servers) }
    }
  }

  private mutating func begin(_ list: HostList) throws(PostgreSQLError) {
    roundAt = nil
    front = nil
    do throws(PostgreSQLError) {
      front = try ConnectCandidate(
        list.parameters, isExpanded: false, configuration)
    } catch {
      // All refused at once, as sockets do that nobody listens on.
      try ended(error)
    }
  }

  /// Begins with all servers again, which have to prove more now.
  private mutating func beginAnew(with settings: [String: String]) throws(PostgreSQLError) {
    guard let stricter = all?.with(settings) else { return }
    silent = []
    all = stricter
    servers = stricter
    try begin(stricter)
  }

  /// A round has led to nothing: another follows as long as there is one that may still answer.
  private mutating func ended(_ error: PostgreSQLError) throws(PostgreSQLError) {
    guard error.isTransient, !silent.isEmpty else { throw error }
    lastError = error
    roundAt = EventLoop.now + Self.pause
  }

  /// Those for which something has come, in slices so that the end is noticed in time.
  private func waitForNews() -> [ConnectCandidate] {
    let candidates = silent + (front.map { [$0] } ?? [])
    var descriptors = candidates.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
    let slice = min(max(until - EventLoop.now, .zero), .milliseconds(100))
    let milliseconds = Int32(slice.milliseconds) + 1
    guard Glibc.poll(&descriptors, nfds_t(descriptors.count), milliseconds) > 0 else { return [] }
    return zip(candidates, descriptors).filter { $0.1.revents != 0 }.map(\.0)
  }

  private mutating func failed(
    _ candidate: ConnectCandidate, _ error: PostgreSQLError, _ othersMayDo: Bool
  ) throws(PostgreSQLError) {
    if candidate === front {
      front = nil
      // libpq is given the whole rest anew: those before it cost one refusal more.
      if othersMayDo, let rest = candidate.servers?.without(candidate.host) { return try begin(rest) }
      try ended(error)
    } else {
      silent.removeAll { $0 === candidate }
      if front == nil, silent.isEmpty { throw error }
    }
  }

  /// Begins with the other servers when the one that is tried says nothing.
  private mutating func leaveSilent() throws(PostgreSQLError) {
    guard let candidate = front else { return }
    let patience = servers?.connectTimeout.map { Duration.seconds($0) } ?? Self.patience
    guard EventLoop.now - candidate.hostSince > patience,
      let others = servers?.without(candidate.host)
    else { return }
    silent.append(candidate)
    servers = others
    try begin(others)
  }
}

/// The servers that a connection string names, and all else that libpq has made of it.
struct HostList {
  /// A server to connect to, as libpq names it; what is empty was not given.
  struct Host: Equatable {
    var name: String
    var address: String
    var port: String

    /// Whether it is a Unix socket.
    var isSocket: Bool { address.isEmpty && (name.isEmpty || name.first == "/" || name.first == "@") }
    /// Whether it is this machine: a socket, or an address of the loopback.
    var isLocal: Bool {
      if isSocket { return true }
      let address = address.isEmpty ? name : address
      return address == "localhost" || address == "::1"
        || address.hasPrefix("127.") && address.allSatisfy { "0123456789.".contains($0) }
    }
    /// What `PQhost` calls it.
    var shown: String { name.isEmpty ? address : name }
    /// Whether libpq asks a name server for it.
    fileprivate var isLookedUp: Bool {
      guard address.isEmpty, let first = name.first else { return false }
      return first != "/" && first != "@"
    }
  }

  let hosts: [Host]
  /// The user's own bound for one server, in seconds.
  let connectTimeout: Int?
  private let others: [(keyword: String, value: String)]

  init(_ hosts: [Host], connectTimeout: Int? = nil, others: [(keyword: String, value: String)] = []) {
    self.hosts = hosts
    self.connectTimeout = connectTimeout
    self.others = others
  }

  /// What a connection that was begun goes by.
  init(_ settings: LibpqSettings) {
    let values = settings.values
    self.init(
      Self.hosts(values["host"] ?? "", values["hostaddr"] ?? "", values["port"] ?? ""),
      connectTimeout: values["connect_timeout"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil },
      // The service's settings are among the values already.
      others: values.filter { !["host", "hostaddr", "port", "service"].contains($0.key) }
        .sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
  }

  /// Takes libpq's three lists apart; one port is for all.
  static func hosts(_ names: String, _ addresses: String, _ ports: String) -> [Host] {
    func list(_ text: String) -> [String] {
      text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }
    let (names, addresses, ports) = (list(names), list(addresses), list(ports))
    return (0..<max(names.count, addresses.count)).map { index in
      Host(
        name: index < names.count ? names[index] : "",
        address: index < addresses.count ? addresses[index] : "",
        port: ports.count == 1 ? ports[0] : index < ports.count ? ports[index] : "")
    }
  }

  /// The same without the address that a connection is at; of a name with several addresses the others stay.
  ///
  /// - Returns: nil when nothing else is left, or the host is not found.
  func without(
    _ removed: Host, lookUp: (_ name: String) -> [String] = HostList.addresses
  ) -> HostList? {
    var left: [Host] = []
    var isFound = false
    for host in hosts {
      let isRemoved =
        host.shown == removed.name && (host.port.isEmpty ? "5432" : host.port) == removed.port
        && (host.address.isEmpty || host.address == removed.address)
      guard isRemoved else {
        left.append(host)
        continue
      }
      isFound = true
      guard host.isLookedUp else { continue }
      for address in lookUp(host.name) where address != removed.address {
        left.append(Host(name: host.name, address: address, port: host.port))
      }
    }
    guard isFound, !left.isEmpty else { return nil }
    return HostList(left, connectTimeout: connectTimeout, others: others)
  }

  /// The keywords by which libpq connects to these servers.
  var parameters: [(keyword: String, value: String)] {
    others + [
      ("host", hosts.map(\.name).joined(separator: ",")),
      ("hostaddr", hosts.map(\.address).joined(separator: ",")),
      ("port", hosts.map(\.port).joined(separator: ",")),
    ]
  }

  /// The same list with other settings.
  func with(_ settings: [String: String]) -> HostList {
    let kept = others.filter { settings[$0.keyword] == nil }
    let new = settings.sorted { $0.key < $1.key }.map { (keyword: $0.key, value: $0.value) }
    return HostList(hosts, connectTimeout: connectTimeout, others: kept + new)
  }

  /// The same list with servers that prove who they are.
  ///
  /// - Returns: nil when nothing has to change.
  /// - Throws: When a weaker mode was asked for by name and one of the servers is another machine.
  func verified() throws(PostgreSQLError) -> HostList? {
    guard let remote = hosts.first(where: { !$0.isLocal }) else { return nil }
    let mode = others.first { $0.keyword == "sslmode" }?.value ?? ""
    switch mode {
    case "verify-full": return nil
    // What libpq takes when nothing is said.
    case "prefer", "": return with(["sslmode": "verify-full"])
    default:
      var error = PostgreSQLError(
        .connectionFailed,
        "No connection: \(remote.shown) is another machine, and with sslmode=\(mode) anybody on the way could pass for"
          + " it. Use sslmode=verify-full, with the authority's certificate as sslrootcert; or take it as it is with"
          + " --database-proof as-given.")
      error.phase = .configuration
      throw error
    }
  }

  /// All addresses of a name, in the system's order; blocks.
  static func addresses(of name: String) -> [String] {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(name, nil, &hints, &found) == 0 else { return [] }
    defer { freeaddrinfo(found) }
    return sequence(first: found, next: { $0?.pointee.ai_next }).compactMap { entry in
      guard let entry = entry?.pointee else { return nil }
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      let size = socklen_t(text.count)
      guard getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, size, nil, 0, NI_NUMERICHOST) == 0 else {
        return nil
      }
      return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }
}
