import Glibc

/// How many files and sockets this process may have open.
public enum DescriptorLimit {
  /// Raises the limit to the most the system allows this process; leaves it if that fails.
  ///
  /// - Returns: The limit that holds then.
  @discardableResult
  public static func raise() -> Int {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return Int(FD_SETSIZE) }
    // A call that changes nothing is left out: where a sandbox forbids it, it would end the process.
    if limit.rlim_cur < limit.rlim_max {
      var raised = limit
      raised.rlim_cur = limit.rlim_max
      if setrlimit(resource, &raised) == 0 { limit = raised }
    }
    return Int(clamping: limit.rlim_cur)
  }
}
