import Glibc

/// How many files and sockets this process may have open.
public enum DescriptorLimit {
  /// Raises the limit to the most the system allows this process; leaves it if that fails.
  public static func raise() {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = setrlimit(resource, &limit)
  }
}
