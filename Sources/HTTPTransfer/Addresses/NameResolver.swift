public import EventLoop
internal import Glibc

/// Looks up where a name leads to. Whoever sends something there asks once and keeps to the answer.
public struct NameResolver: Sendable {
  /// All addresses of a host's name, or of a host that is an address itself; throws when there are none.
  ///
  /// Must end soon after its task is cancelled.
  public var addresses: @Sendable (_ host: String) async throws -> [IPAddress]

  /// A resolver of the caller's.
  public init(_ addresses: @escaping @Sendable (_ host: String) async throws -> [IPAddress]) {
    self.addresses = addresses
  }

  /// The system's own, as `/etc/nsswitch.conf` has it, on a thread of its own: `getaddrinfo` blocks and cannot be
  /// interrupted, and the thread is left to a name server that does not answer.
  public static let system = NameResolver { host in
    let answer = FirstValue<Answer>()
    return try await answer.wait(cancelled: .failure(CancellationError())) {
      if !HelperThread.start({ answer.give(ask(host)) }) {
        answer.give(.failure(Failure(description: "the system has no thread left")))
      }
    }.get()
  }

  private typealias Answer = Result<[IPAddress], any Error>

  private static func ask(_ host: String) -> Answer {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    let code = getaddrinfo(name, nil, &hints, &first)
    defer { if let first { freeaddrinfo(first) } }
    guard code == 0 else {
      return .failure(Failure(description: String(cString: gai_strerror(code))))
    }
    var found: [IPAddress] = []
    for entry in sequence(first: first, next: { $0?.pointee.ai_next }) {
      guard let name = entry?.pointee.ai_addr, let address = IPAddress(name) else { continue }
      if !found.contains(address) { found.append(address) }
    }
    return .success(found)
  }

  /// Why there is no answer.
  struct Failure: Error, CustomStringConvertible {
    /// The system's message, which names nothing of the question.
    let description: String
  }
}

/// Finds out where a host is, and judges each of its addresses, before anything is sent there. Whoever sends something
/// pins the transfer to the answer, which a second look-up could not change any more.
public struct HostLookup: Sendable {
  /// Why a host cannot be sent anything.
  public enum Failure: Error, Sendable, Equatable {
    /// The caller's task was cancelled.
    case cancelled
    /// The name cannot be looked up; the system's reason, which names nothing of the question.
    case notResolved(String)
    /// The look-up took too long.
    case tooSlow
    /// The name leads to no address.
    case nowhere
    /// One of its addresses is refused; the reason, to be read after "an address that is".
    case refused(String)
  }

  private let resolver: NameResolver
  private let refusal: @Sendable (IPAddress) -> String?

  /// The most addresses of a host that are tried.
  private static let mostAddresses = 16

  /// A look-up.
  ///
  /// - Parameter refusal: Why an address is refused; nil when it is not.
  public init(
    _ resolver: NameResolver,
    refusal: @escaping @Sendable (IPAddress) -> String? = { AddressRules.refusal(of: $0) }
  ) {
    self.resolver = resolver
    self.refusal = refusal
  }

  /// The addresses of a host, each of them judged. One that is refused is enough: whoever owns the name mixes public and
  /// private ones for no good reason.
  public func addresses(
    of host: String, within limit: Duration, on loop: EventLoop
  ) async throws(Failure) -> [IPAddress] {
    let found = if let address = IPAddress(host) { [address] } else { try await lookUp(host, limit, loop) }
    guard !found.isEmpty else { throw .nowhere }
    for address in found {
      if let reason = refusal(address) { throw .refused(reason) }
    }
    return Array(found.prefix(Self.mostAddresses))
  }

  /// Whether something may be sent on a connection to an address, in figures: asked once more when it stands.
  public func permits(_ peer: String) -> Bool {
    IPAddress(peer).map { refusal($0) == nil } ?? false
  }

  private func lookUp(
    _ host: String, _ limit: Duration, _ loop: EventLoop
  ) async throws(Failure) -> [IPAddress] {
    let answer = await withTaskGroup(of: Result<[IPAddress], Failure>.self) { group in
      group.addTask { await self.answer(for: host) }
      group.addTask {
        // Ended early only by cancellation: then nobody asks for the answer.
        do { try await loop.sleep(for: limit) } catch { return .failure(.cancelled) }
        return .failure(.tooSlow)
      }
      let first = await group.next() ?? .failure(.cancelled)
      group.cancelAll()
      return first
    }
    return try answer.get()
  }

  private func answer(for host: String) async -> Result<[IPAddress], Failure> {
    do {
      return .success(try await resolver.addresses(host))
    } catch is CancellationError {
      return .failure(.cancelled)
    } catch let failure as NameResolver.Failure {
      return .failure(.notResolved(failure.description))
    } catch {
      return .failure(.notResolved("the look-up failed"))
    }
  }
}
