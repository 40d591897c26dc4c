internal import Glibc
internal import Synchronization

/// The connections of a daemon, so that a new one always comes in: clients that connect and send nothing, or a byte now
/// and then, or do not read what they asked for, could otherwise take every place.
final class OpenConnections: Sendable {
  private struct Open {
    let connection: HTTPConnection
    let socket: Int32
    /// It has sent a whole request, whose answer is being made or never ends.
    var isKept = false
  }

  private let most: Int
  /// In the order in which they came.
  private let open = Mutex<[Open]>([])

  init(atMost most: Int) {
    self.most = most
  }

  /// A connection was taken. Where there is one too many, the oldest that is not kept ends: the library sees it as
  /// closed by its client. Its socket is still this process's, for `ended` is called before it is closed.
  func began(_ connection: HTTPConnection) {
    open.withLock { open in
      if open.count >= most, let oldest = open.firstIndex(where: { !$0.isKept }) {
        shutdown(open.remove(at: oldest).socket, Int32(SHUT_RDWR))
      }
      open.append(Open(connection: connection, socket: connection.socket))
    }
  }

  /// Its socket is about to be closed.
  func ended(_ connection: HTTPConnection) {
    open.withLock { open in open.removeAll { $0.connection == connection } }
  }

  /// Its request is there: what it asked for is being made.
  func keep(_ connection: HTTPConnection) { mark(connection, true) }

  /// Its whole answer is there, for it to read or not, or its request has ended.
  func letGo(_ connection: HTTPConnection) { mark(connection, false) }

  private func mark(_ connection: HTTPConnection, _ isKept: Bool) {
    open.withLock { open in
      guard let index = open.firstIndex(where: { $0.connection == connection }) else { return }
      open[index].isKept = isKept
    }
  }
}
