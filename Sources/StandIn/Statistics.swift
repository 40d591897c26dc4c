import Glibc
import Support
import Synchronization

/// Counts of what has been answered.
final class Statistics: Sendable {
  private struct State {
    var outcomes: [String: Int] = [:]
    var calls = 0
    var inFlight = 0
    var maximumInFlight = 0
  }

  private let state = Mutex(State())

  /// Uploads that are open.
  var inFlight: Int { state.withLock { $0.inFlight } }

  /// An upload has begun.
  ///
  /// - Returns: uploads open now, this one included.
  func began() -> Int {
    state.withLock { state in
      state.calls += 1
      state.inFlight += 1
      state.maximumInFlight = max(state.maximumInFlight, state.inFlight)
      return state.inFlight
    }
  }

  /// What an upload was answered with is settled.
  func answered(_ outcome: String) {
    state.withLock { $0.outcomes[outcome, default: 0] += 1 }
  }

  /// An upload has ended, whether its answer was read or not.
  func ended() {
    state.withLock { $0.inFlight -= 1 }
  }

  /// The counts, with those of the other parts.
  func snapshot(of core: EndpointCore) -> EndpointStatistics {
    let (tries, accounts) = (core.tries.summary, core.accounts.summary)
    return state.withLock { state in
      EndpointStatistics(
        uploads: state.calls, inFlight: state.inFlight, maximumInFlight: state.maximumInFlight,
        outcomes: state.outcomes, keys: tries.keys, repeatedTries: tries.repeats, images: core.cache.count,
        accounts: accounts.accounts, logins: accounts.logins, refreshes: accounts.refreshes)
    }
  }
}

/// What the endpoint has done since it started.
struct EndpointStatistics: Sendable, Codable, Equatable {
  /// Uploads that have begun.
  let uploads: Int
  let inFlight: Int
  /// The most uploads that were open at once.
  let maximumInFlight: Int
  /// Uploads by what became of them: `analysis`, a class of failure, or `status-401` and the like where the
  /// endpoint itself refused.
  let outcomes: [String: Int]
  /// Different idempotency keys (or pictures, where a request had no key).
  let keys: Int
  /// Tries beyond the first of each key.
  let repeatedTries: Int
  /// Pictures in the cache.
  let images: Int
  let accounts: Int
  let logins: Int
  let refreshes: Int
}

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
