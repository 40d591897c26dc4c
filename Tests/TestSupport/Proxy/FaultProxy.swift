import Foundation
import Glibc
import Synchronization

/// Stands between PostgreSQL's clients and its server, and does to their connections what networks do.
///
/// It knows the protocol's messages, so that it can cut a connection at a statement: before the server has
/// seen it, or when the server has carried it out and the client does not know.
public final class FaultProxy: Sendable {
  /// Where the server is.
  public enum Server: Sendable {
    /// A Unix socket.
    case socket(String)
    /// A port of 127.0.0.1.
    case port(UInt16)
  }

  /// When a connection is cut.
  public enum Cut: Sendable {
    /// The statement never reaches the server.
    case beforeServer
    /// The server has carried the statement out; its answer never reaches the client.
    case afterAnswer
  }

  private struct Plan {
    let text: String
    let cut: Cut
    /// What must have been seen before; nil when that has been.
    var after: String?
    var waits: Int
    var strikes: Int
  }

  private struct State {
    var listener: Int32?
    var links: [ObjectIdentifier: ProxyLink] = [:]
    var plans: [Plan] = []
    var struck = 0
    var passed = 0
  }

  /// The port of 127.0.0.1 on which it listens.
  public let port: UInt16
  private let server: Server
  private let state = Mutex(State())
  let ice = ProxyIce()

  /// Starts to listen.
  ///
  /// - Throws: `TestSupportError` when no port is free.
  public init(to server: Server) throws {
    self.server = server
    port = try FreePort.find()
    try admit()
  }

  /// A connection string through it, as the clusters' superuser.
  public func conninfo(database: String = "postgres") -> String {
    "host=127.0.0.1 port=\(port) user=postgres dbname=\(database)"
  }

  // MARK: Faults

  /// Cuts connections at statements whose text contains the given one.
  ///
  /// - Parameters:
  ///   - after: A text that another statement must have held before; nil for none.
  ///   - skipping: How many such statements pass before.
  ///   - times: At how many of those that follow it strikes.
  public func cut(
    _ cut: Cut, at text: String, after: String? = nil, skipping: Int = 0, times: Int = 1
  ) {
    state.withLock {
      $0.plans.append(Plan(text: text, cut: cut, after: after, waits: skipping, strikes: times))
    }
  }

  /// How many connections were cut at a statement.
  public var struck: Int { state.withLock { $0.struck } }

  /// How many connections were made through it.
  public var connectionCount: Int { state.withLock { $0.passed } }

  /// Forgets what was to be cut.
  public func spare() { state.withLock { $0.plans = [] } }

  /// Ends every connection.
  public func cutAll() {
    for link in state.withLock({ Array($0.links.values) }) { link.cut() }
  }

  /// Lets no byte pass in either direction; connections stay, and new ones get no answer.
  public func freeze() { ice.set(true) }

  /// Lets everything pass that was held.
  public func thaw() { ice.set(false) }

  /// Refuses new connections as a machine does on which no server runs.
  public func refuse() {
    let listener = state.withLock { state -> Int32? in
      defer { state.listener = nil }
      return state.listener
    }
    // Whoever accepts is woken by it, and closes it.
    if let listener { shutdown(listener, Int32(SHUT_RDWR)) }
  }

  /// Takes connections again.
  public func admit() throws {
    // The listener before may be closing just now.
    for attempt in 0... {
      if let listener = Sockets.listen(port: port) {
        state.withLock { $0.listener = listener }
        Thread.detachNewThread { [self] in accept(on: listener) }
        return
      }
      guard attempt < 200 else { throw TestSupportError("The proxy's port \(port) is taken") }
      usleep(10_000)
    }
  }

  /// Ends everything.
  public func stop() {
    refuse()
    thaw()
    cutAll()
  }

  // MARK: Connections

  private func accept(on listener: Int32) {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      guard client >= 0 else { break }
      _ = fcntl(client, F_SETFD, FD_CLOEXEC)
      Thread.detachNewThread { [self] in pass(client) }
    }
    close(listener)
  }

  private func pass(_ client: Int32) {
    ice.waitUntilThawed()
    let upstream =
      switch server {
      case .socket(let path): Sockets.connect(path: path)
      case .port(let port): Sockets.connect(port: port)
      }
    guard let upstream else {
      close(client)
      return
    }
    let link = ProxyLink(client: client, server: upstream, proxy: self)
    state.withLock { state in
      state.links[ObjectIdentifier(link)] = link
      state.passed += 1
    }
    link.run()
    state.withLock { $0.links[ObjectIdentifier(link)] = nil }
  }

  /// What is to be done at a statement.
  func verdict(on statement: String) -> Cut? {
    state.withLock { state in
      for index in state.plans.indices {
        if let after = state.plans[index].after {
          if statement.contains(after) { state.plans[index].after = nil }
          continue
        }
        guard statement.contains(state.plans[index].text) else { continue }
        guard state.plans[index].waits == 0 else {
          state.plans[index].waits -= 1
          continue
        }
        guard state.plans[index].strikes > 0 else { continue }
        state.plans[index].strikes -= 1
        return state.plans[index].cut
      }
      return nil
    }
  }

  func noteStrike() { state.withLock { $0.struck += 1 } }
}
