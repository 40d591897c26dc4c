import Foundation
import Synchronization

/// A real object store of S3's API, over a folder: rclone's. Each folder in it is a bucket.
public final class ObjectServer: Sendable {
  /// The key that it takes.
  public static let accessKey = "TESTACCESSKEY"
  /// Its secret part.
  public static let secretKey = "testsecretkey"
  /// The folder with the buckets.
  public let folder: TemporaryFolder
  /// Its port, the same after each start.
  public let port: UInt16
  private let program: Mutex<RunningProgram?> = Mutex(nil)

  /// The program; nil where this machine has none.
  public static let rclone = ProcessInfo.processInfo.environment["ANALYSIS_PYTHON"].flatMap { python in
    HelperProgram.find(
      URL(fileURLWithPath: python).deletingLastPathComponent().appending(path: "rclone").path)
  }

  /// Whether there is one on this machine.
  public static var isAvailable: Bool { rclone != nil }

  /// Starts a store with a bucket `images`.
  public init() async throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path("images"), withIntermediateDirectories: false)
    port = try FreePort.find()
    try await start()
  }

  /// Starts it, and waits until it listens.
  public func start() async throws {
    guard let rclone = Self.rclone else { throw TestSupportError("there is no rclone") }
    let program = try RunningProgram(
      rclone,
      [
        "serve", "s3", "--auth-key", "\(Self.accessKey),\(Self.secretKey)", "--addr", "127.0.0.1:\(port)",
        "--vfs-cache-mode", "off", folder.path,
      ])
    self.program.withLock { $0 = program }
    try await eventually("the object store to listen") {
      if program.hasEnded { throw TestSupportError("rclone has ended: \(program.errorsSoFar)") }
      return program.errorsSoFar.contains("Starting s3 server")
    }
  }

  /// Ends it as if its machine had gone.
  public func kill() async {
    guard let program = program.withLock({ $0.take() }) else { return }
    program.send(SIGKILL)
    _ = await program.ended()
  }

  /// Changes the folder behind its back. It keeps what it knows of folders, and told not to, it stands still where objects
  /// come and go at once: so it is ended before, and started after.
  public func change(_ body: (TemporaryFolder) throws -> Void) async throws {
    await kill()
    try body(folder)
    try await start()
  }

  /// Makes the file by which programs know it, and answers its path.
  ///
  /// - Parameters:
  ///   - address: another address, as of what stands before it.
  ///   - secretKey: another secret.
  public static func file(
    in folder: TemporaryFolder, address: String, secretKey: String = secretKey
  ) throws -> String {
    try folder.write(
      Array("address = \(address)\naccess-key = \(accessKey)\nsecret-key = \(secretKey)\n".utf8),
      to: "store.conf")
  }

  /// The address of its bucket.
  public var address: String { "http://127.0.0.1:\(port)/images" }

  /// The keys of the objects in the bucket.
  public func keys() throws -> [String] {
    guard let files = FileManager.default.enumerator(atPath: folder.path("images")) else { return [] }
    return files.compactMap { $0 as? String }.filter { name in
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: folder.path("images/\(name)"), isDirectory: &isFolder)
      return !isFolder.boolValue
    }.sorted()
  }
}
