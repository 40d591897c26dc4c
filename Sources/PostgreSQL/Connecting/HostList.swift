internal import Glibc

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
