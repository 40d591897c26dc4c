import Glibc
import TestSupport

/// A folder that goes with the object, with what is in it.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/pgtest-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestSupportError("mkdtemp failed with errno \(errno)") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    guard let folder = opendir(path) else { return }
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { unlink(path + "/" + name) }
    }
    closedir(folder)
    rmdir(path)
  }

  func write(_ text: String, to name: String) throws {
    guard let file = fopen(path + "/" + name, "w") else { throw TestSupportError("fopen failed") }
    fputs(text, file)
    fclose(file)
  }

  /// A socket that is listened to, but not accepted from.
  func listen(on name: String) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array((path + "/" + name).utf8)) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
    }
    guard code == 0, Glibc.listen(descriptor, 4) == 0 else {
      throw TestSupportError("listen failed with errno \(errno)")
    }
    return descriptor
  }
}
