internal import Clinux
internal import Glibc

/// A password file that the service manager hands over, as libpq takes it.
///
/// systemd lets the service's user read a credential by an access list, whose mask shows as the group's right to read;
/// libpq takes that for a file that others can read, and does not use it. So it is given a copy of mode 0600 in memory,
/// which goes with this object.
final class CredentialCopy {
  private static let largest = 65536
  private let file: String
  private let descriptor: Int32

  /// Where libpq finds it.
  var path: String { "/proc/self/fd/\(descriptor)" }

  /// - Returns: nil for what is no credential, or one that libpq takes as it is: a file in the folder of credentials
  ///   that the group may read, and nobody else.
  init?(of file: String, in folder: String) {
    self.file = file
    guard file.hasPrefix(folder + "/"), !file.dropFirst(folder.count + 1).contains("/") else { return nil }
    let source = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard source >= 0 else { return nil }
    defer { close(source) }
    var facts = stat()
    guard fstat(source, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_mode & 0o077 == 0o040,
      facts.st_size <= Self.largest
    else { return nil }
    descriptor = memfd_create("password file", linux_memfd_cloexec)
    guard descriptor >= 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(facts.st_size))
    guard fchmod(descriptor, 0o600) == 0, read(source, &bytes, bytes.count) == bytes.count,
      write(descriptor, bytes, bytes.count) == bytes.count
    else { return nil }
  }

  /// The error with the credential's own name: libpq says from which file a wrong password is.
  func named(in error: PostgreSQLError) -> PostgreSQLError {
    var error = error
    error.message = error.message.replacing(path, with: file)
    return error
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }
}
