import Foundation
import Glibc
import Synchronization

/// A server on a free port of the loopback whose every byte the test decides: each connection gets a
/// thread and the test's own function.
public final class RawServer: Sendable {
  /// The port that the system chose.
  public let port: UInt16

  private struct State {
    var stopped = false
    var open: [ObjectIdentifier: RawConnection] = [:]
    var accepted = 0
  }

  private let listener: Int32
  private let state = Mutex(State())

  /// Starts to listen.
  ///
  /// - Parameters:
  ///   - reserved: The port; a free one when nil.
  ///   - receiveBuffer: About how many bytes the system takes for a handler that does not read; nil for its own number.
  ///   - handler: Serves one connection; when it returns or throws, the connection is closed.
  public init(
    on reserved: ReservedPort? = nil, receiveBuffer: Int32? = nil,
    _ handler: @escaping @Sendable (RawConnection) throws -> Void
  ) throws {
    let reserved = try reserved ?? ReservedPort()
    listener = try reserved.listener()
    if var receiveBuffer {
      setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
    }
    port = reserved.port
    Thread.detachNewThread { [self] in accept(handler) }
  }

  /// The server's address, without a slash at its end.
  public var url: String { "http://127.0.0.1:\(port)" }

  /// How many connections were accepted.
  public var connectionCount: Int { state.withLock { $0.accepted } }

  /// Stops listening and ends all connections.
  public func stop() {
    let open = state.withLock { state -> [RawConnection] in
      guard !state.stopped else { return [] }
      state.stopped = true
      return Array(state.open.values)
    }
    shutdown(listener, Int32(SHUT_RDWR))
    for connection in open { connection.interrupt() }
  }

  private func accept(_ handler: @escaping @Sendable (RawConnection) throws -> Void) {
    while true {
      let descriptor = Glibc.accept(listener, nil, nil)
      guard descriptor >= 0 else { break }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      let connection = RawConnection(descriptor)
      let goesOn = state.withLock { state in
        state.accepted += 1
        state.open[ObjectIdentifier(connection)] = connection
        return !state.stopped
      }
      Thread.detachNewThread { [self] in
        if goesOn { try? handler(connection) }
        state.withLock { $0.open[ObjectIdentifier(connection)] = nil }
        connection.close()
      }
    }
    Glibc.close(listener)
  }
}

/// A system call of a test's server failed, or its peer did not speak HTTP.
public struct ServerFailure: Error, CustomStringConvertible {
  /// What failed.
  public let description: String

  /// A failure in words.
  public init(_ description: String) {
    self.description = description
  }

  /// The failure of a system call, with what the system says.
  static func system(_ call: String) -> ServerFailure {
    ServerFailure("\(call): \(String(cString: strerror(errno)))")
  }
}
