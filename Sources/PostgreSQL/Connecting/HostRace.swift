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
      configuration.parameters, isExpanded: true, proof: configuration.serverProof,
      onNotice: configuration.onNotice)
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
        list.parameters, isExpanded: false, proof: configuration.serverProof, onNotice: configuration.onNotice
      )
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
