import Glibc
import Support

/// One JSON line for each upload: no token, no address, no image bytes. A line is one write to a file opened
/// for appending, so lines of several threads do not mix, and what was answered is in the file before the
/// client can have read it.
final class UploadLog: Sendable {
  private let descriptor: Int32

  init(path: String) throws(EndpointError) {
    descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw EndpointError(
        .unreadable, "the log file '\(path)' cannot be written: \(String(cString: strerror(errno)))")
    }
  }

  deinit { close(descriptor) }

  /// What a line says.
  struct Line {
    var key: String?
    var image: ImageDigest?
    var attempt = 0
    var status: Int
    var outcome: String
    var inFlight: Int
    /// From the first byte of the request to the answer.
    var duration: Duration
    /// Seconds since 1970.
    var time: Double
  }

  func write(_ line: Line) {
    var text = JSONWriter()
    text.raw("{\"time\":")
    text.string(UnixTime(secondsSince1970: line.time).rfc3339)
    if let key = line.key {
      text.raw(",\"key\":")
      text.string(String(key.prefix(200)))
    }
    if let image = line.image {
      text.raw(",\"image\":\"\(image.hex)\",\"bytes\":\(image.count),\"try\":\(line.attempt)")
    }
    let milliseconds = (line.duration.inSeconds * 1e6).rounded() / 1e3
    text.raw(",\"status\":\(line.status),\"outcome\":")
    text.string(line.outcome)
    text.raw(",\"in_flight\":\(line.inFlight),\"ms\":\(milliseconds)}\n")
    _ = text.bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
  }
}
