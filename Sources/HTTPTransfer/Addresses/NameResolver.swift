internal import EventLoop
internal import Glibc
internal import Synchronization

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

  /// The system's own, as `/etc/nsswitch.conf` has it.
  public static let system = NameResolver { host in try await Lookup().run(host) }

  /// Why there is no answer.
  struct Failure: Error, CustomStringConvertible {
    /// The system's message, which names nothing of the question.
    let description: String
  }
}

/// One question to the system, on a thread of its own, since `getaddrinfo` blocks and cannot be interrupted.
private final class Lookup: Sendable {
  typealias Answer = Result<[IPAddress], any Error>

  private enum State {
    case starting
    case waiting(CheckedContinuation<Answer, Never>)
    case over
  }

  private let state = Mutex(State.starting)

  func run(_ host: String) async throws -> [IPAddress] {
    let answer: Answer = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard begin(continuation) else {
          return continuation.resume(returning: .failure(CancellationError()))
        }
        if !HelperThread.start({ self.finish(Self.ask(host)) }) {
          finish(.failure(NameResolver.Failure(description: "the system has no thread left")))
        }
      }
    } onCancel: {
      // The thread is left to a name server that does not answer.
      finish(.failure(CancellationError()))
    }
    return try answer.get()
  }

  private func begin(_ continuation: CheckedContinuation<Answer, Never>) -> Bool {
    state.withLock { state in
      guard case .starting = state else { return false }
      state = .waiting(continuation)
      return true
    }
  }

  /// Resumes the caller with the first answer.
  private func finish(_ answer: Answer) {
    let continuation = state.withLock { state -> CheckedContinuation<Answer, Never>? in
      defer { state = .over }
      if case .waiting(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume(returning: answer)
  }

  private static func ask(_ host: String) -> Answer {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    let code = getaddrinfo(name, nil, &hints, &first)
    defer { if let first { freeaddrinfo(first) } }
    guard code == 0 else {
      return .failure(NameResolver.Failure(description: String(cString: gai_strerror(code))))
    }
    var found: [IPAddress] = []
    for entry in sequence(first: first, next: { $0?.pointee.ai_next }) {
      guard let name = entry?.pointee.ai_addr, let address = IPAddress(name) else { continue }
      if !found.contains(address) { found.append(address) }
    }
    return .success(found)
  }
}
