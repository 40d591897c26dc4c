public import Foundation

/// A folder that goes with its last owner, unless it is to be kept.
public final class TemporaryFolder: Sendable {
  /// Where it is.
  public let url: URL
  private let isKept: Bool

  /// Makes a folder with files in it, under a path short enough for a socket.
  public init(_ files: [String: [UInt8]] = [:]) throws {
    var template = Array("\(FileManager.default.temporaryDirectory.path)/analysis-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TestSupportError("mkdtemp failed with errno \(errno)") }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    url = URL(fileURLWithPath: path, isDirectory: true)
    isKept = false
    for (name, bytes) in files { try write(bytes, to: name) }
  }

  /// Makes a folder at a place, which stays.
  public init(kept url: URL) throws {
    self.url = url
    isKept = true
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    if !isKept { try? FileManager.default.removeItem(at: url) }
  }

  /// Its own path.
  public var path: String { url.path }

  /// The path of a file in it.
  public func path(_ name: String) -> String { "\(path)/\(name)" }

  /// What is in it, hidden files among it.
  public var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
  }

  /// What is in a folder in it.
  public func names(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path(folder)).sorted()
  }

  /// What a file in it holds.
  public func bytes(_ name: String) throws -> [UInt8] {
    try Array(Data(contentsOf: URL(fileURLWithPath: path(name))))
  }

  /// The text that a file in it holds.
  public func text(_ name: String) throws -> String { String(decoding: try bytes(name), as: UTF8.self) }

  /// Removes a file in it.
  public func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: path(name)) }

  /// Makes a file with a mode, and the folders on its way, and returns its path.
  @discardableResult
  public func write(_ bytes: some Sequence<UInt8>, to name: String, mode: Int = 0o600) throws -> String {
    let path = path(name)
    try FileManager.default.createDirectory(
      at: URL(fileURLWithPath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    return path
  }

  /// Makes a file with a text and a mode and returns its path.
  @discardableResult
  public func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
    try write(text.utf8, to: name, mode: mode)
  }

  /// A socket in it that is listened to, but not accepted from.
  public func listen(on name: String) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path(name).utf8)) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
    }
    guard code == 0, Foundation.listen(descriptor, 4) == 0 else {
      throw TestSupportError("listen failed with errno \(errno)")
    }
    return descriptor
  }
}
