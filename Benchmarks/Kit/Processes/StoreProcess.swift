import Glibc
import TestSupport

/// An object store of the benchmarks' own, rclone's, with a bucket `images` that is in its memory.
///
/// One in a folder would answer some of many writes at once with 500: it renames files behind folders that are new.
public final class StoreProcess: Sendable {
  /// By what programs are told of it.
  public let options: [String]
  private let process: MeasuredProcess
  private let folder: TemporaryFolder

  /// Starts it, and makes the bucket.
  public init() async throws {
    guard let rclone = ObjectServer.rclone, let curl = HelperProgram.find("/usr/bin/curl") else {
      throw BenchmarkError("rclone or curl is missing; scripts/bench installs them.")
    }
    let address = "127.0.0.1:\(try FreePort.find())"
    let (key, secret) = (ObjectServer.accessKey, ObjectServer.secretKey)
    folder = try TemporaryFolder()
    options = ["--image-store", try ObjectServer.file(in: folder, address: "http://\(address)/images")]
    process = try MeasuredProcess(
      rclone,
      [
        "serve", "s3", "--config", folder.path("none"), "--auth-key", "\(key),\(secret)", "--addr", address,
        "--vfs-cache-mode", "off", ":memory:",
      ])
    do {
      try await process.wait(for: "listening") { _, errors in errors.contains("Starting s3 server") }
      _ = try await MeasuredProcess.run(
        curl,
        [
          "--fail", "--silent", "--show-error", "--noproxy", "*", "--aws-sigv4", "aws:amz:us-east-1:s3",
          "--user", "\(key):\(secret)", "--request", "PUT", "http://\(address)/images",
        ])
    } catch {
      process.send(SIGKILL)
      throw error
    }
  }

  /// User and system seconds so far.
  public var seconds: Double { process.usage.seconds }

  /// Ends it.
  public func stop() async {
    process.send(SIGKILL)
    _ = await process.ended()
  }
}
