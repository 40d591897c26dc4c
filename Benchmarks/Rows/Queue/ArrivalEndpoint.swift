import Glibc
import TestSupport

/// An endpoint in this process that says when each request's header has come: as soon as it has, and for programs that
/// measure themselves in the analysis that it answers, whose number is the time.
final class ArrivalEndpoint: Sendable {
  /// The times of the arrivals, in nanoseconds since 1970.
  let arrivals: AsyncStream<Int64>
  /// The base address.
  var url: String { server.url }

  private let server: RawServer

  init() throws {
    let (arrivals, told) = AsyncStream.makeStream(of: Int64.self)
    self.arrivals = arrivals
    server = try RawServer { connection in
      while let head = try connection.readHead() {
        let now = Self.now
        guard connection.readBody(of: head) != nil else { return }
        told.yield(now)
        let answer = #"{"id":"\#(now)","type":"throat","conditions":[]}"#
        try connection.respond(200, answer, headers: ["Content-Type: application/json"])
      }
    }
  }

  func stop() { server.stop() }

  /// The clock that every process of the machine shares.
  static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
