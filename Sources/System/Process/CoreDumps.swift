internal import Clinux
import Glibc

/// Whether the system may write this process's memory to a file when it crashes.
public enum CoreDumps {
  /// Forbids it: the memory holds tokens, keys and images. Both ways are closed, since a dump that is piped to a
  /// program heeds no limit; a debugger of the same user is kept out with it.
  public static func forbid() {
    linux_forbid_dumps()
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
  }
}
