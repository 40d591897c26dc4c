internal import Glibc

/// A system call that the loop needs failed; nearly always for want of descriptors or memory.
public struct EventLoopError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The system call, for instance `epoll_create1`.
  public let call: String
  /// Its `errno`.
  public let errno: Int32

  init(call: String, errno: Int32) {
    self.call = call
    self.errno = errno
  }

  /// The call, what the system said, and what to do where that is known.
  public var description: String {
    let hint =
      errno == EMFILE || errno == ENFILE
      ? " Raise the limit of open files (LimitNOFILE in the unit, ulimit -n in a shell)." : ""
    return "\(call) failed: \(String(cString: strerror(errno))).\(hint)"
  }
}
