import Glibc

/// Standard input, output and error.
public enum StandardDescriptors {
  /// Opens those that the caller of this program has closed. Else the first sockets would get their numbers,
  /// and a log line would go to the database.
  ///
  /// Each is opened the wrong way round, so that reading or writing fails as it did before. Call it before
  /// anything is opened.
  public static func open() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free number, which is the missing one.
      _ = Glibc.open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}
