import Synchronization
import Testing

@testable import Control
@testable import Support

@Suite("What the server says beside its answers")
struct ServerNoticeTests {
  @Test(
    "is logged for a developer, unless it is a warning",
    arguments: [
      ("DEBUG", "debug"), ("LOG", "debug"), ("INFO", "debug"), ("NOTICE", "debug"), ("WARNING", "warning"),
    ])
  func levels(severity: String, level: String) throws {
    let lines = Lines()
    Log(level: .trace, sink: lines).serverSaid("schema \"analysis\" already exists", severity: severity)
    let line = try #require(lines.all.first)
    #expect(line.contains("\"level\":\"\(level)\""))
    #expect(line.contains("schema \\\"analysis\\\" already exists"))
    #expect(lines.all.count == 1)
  }

  /// Keeps what is logged.
  private final class Lines: LogSink {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func write(_ line: [UInt8]) {
      lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }
  }
}
