import Foundation
import TestSupport
import Testing

@testable import Support

@Suite("The log")
struct LogTests {
  let sink = MemorySink()

  func log(_ level: Log.Level = .info, _ format: Log.Format = .json, fields: [(String, LogValue)] = []) -> Log
  {
    Log(
      level: level, format: format, sink: sink,
      now: { UnixTime(seconds: 1_790_841_600, nanoseconds: 250_999_999) },
      fields: fields)
  }

  @Test("a line is an object of JSON with typed fields in order")
  func json() {
    log(fields: [("worker", "w1")]).info(
      "lease completed",
      [
        "jobs": 100, "ratio": 0.5, "drained": false, "took": .duration(.microseconds(12345)),
        "waited": .duration(.seconds(2)), "lane": "throat \"urgent\" \\ 漢",
      ])
    #expect(
      sink.lines == [
        #"{"time":"2026-10-01T08:00:00.250Z","level":"info","message":"lease completed","worker":"w1","jobs":100,"#
          + #""ratio":0.5,"drained":false,"took_ms":12.345,"waited_ms":2000,"lane":"throat \"urgent\" \\ 漢"}"#
      ])
  }

  @Test("any text makes a line that a JSON reader understands")
  func parses() throws {
    let hostile = String(String.UnicodeScalarView((0...0x2100).compactMap(Unicode.Scalar.init)))
    for start in stride(from: 0, to: hostile.unicodeScalars.count, by: 400) {
      let part = String(String.UnicodeScalarView(hostile.unicodeScalars.dropFirst(start).prefix(400)))
      log().info("text", ["text": .string(part), "nan": .double(.nan), "big": .double(1e300)])
    }
    for line in sink.lines {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      #expect(object?["message"] as? String == "text")
      #expect(object?["nan"] as? String == "nan")
    }
    #expect(sink.lines.count == 22)
  }

  @Test("one event is one line, whatever is in it")
  func oneLine() {
    log().warning("a\nb", ["c\nd": "e\r\nf\u{1B}[2J\u{202E}g"])
    #expect(sink.lines.first?.hasSuffix(#""level":"warning","message":"a b","c d":"e  f[2Jg"}"#) == true)
  }

  @Test("nothing that hides text or turns its order round is in a line", arguments: HostileText.all)
  func hostile(text: HostileText) {
    log().info("event", [text.text: .string(text.text)])
    log(.info, .human(colour: false)).info("event", [text.text: .string(text.text)])
    #expect(sink.lines.count == 2)
    #expect(HostileText.found(in: sink.lines.joined()) == [])
  }

  @Test("long texts are cut")
  func bounded() {
    log().info("long", ["text": .string(String(repeating: "x", count: 100_000))])
    #expect((sink.lines.first?.count ?? 0) < 700)
    #expect(sink.lines.first?.hasSuffix("x…\"}") == true)
  }

  @Test(
    "a field that may hold what nobody should read is redacted, whatever its type",
    arguments: [
      "token", "accessToken", "refresh_token", "password", "Authorization", "user-email", "e_mail", "name",
      "fileName",
      "display.name", "client_secret", "Set-Cookie", "JWT",
    ])
  func redacted(field: String) {
    log(.info, .human(colour: false)).with([field: "hunter2"]).info("event", [field: 4711])
    log().info("event", [field: .duration(.seconds(4711))])
    let text = sink.lines.joined()
    #expect(!text.contains("hunter2") && !text.contains("4711"))
    #expect(text.contains("\"\(field)\":\"<redacted>\""))
  }

  @Test("other fields are not", arguments: ["hostname", "tokens", "filename", "job", "renamed", "mailbox"])
  func shown(field: String) {
    log().info("event", [field: "visible"])
    #expect(sink.lines.first?.contains("visible") == true)
  }

  @Test(
    "events below the level are not written, and their fields not even made", arguments: Log.Level.allCases)
  func levels(level: Log.Level) {
    let log = log(level)
    func made() -> Log.Fields {
      ["made": true]
    }
    log.trace("e", made())
    log.debug("e", made())
    log.info("e", made())
    log.notice("e", made())
    log.warning("e", made())
    log.error("e", made())
    let expected = Log.Level.allCases.filter { $0 >= level }.map { "\"level\":\"\($0.rawValue)\"" }
    #expect(sink.lines.count == expected.count)
    #expect(zip(sink.lines, expected).allSatisfy { $0.contains($1) })
  }

  @Test("fields below the level are not made")
  func lazily() {
    var wasMade = false
    func made() -> Log.Fields {
      wasMade = true
      return [:]
    }
    log(.error).info("e", made())
    #expect(!wasMade)
    log(.info).info("e", made())
    #expect(wasMade)
  }

  @Test("a line for people")
  func human() {
    log(.info, .human(colour: false)).notice(
      "drained", ["jobs": 3, "why": "a \"b\" c", "took": .duration(.milliseconds(1500)), "lane": "ear"])
    #expect(sink.lines == ["08:00:00.250 NOTICE  drained jobs=3 why=\"a 'b' c\" took=1500ms lane=ear"])
  }

  @Test("a line for people in colour")
  func colour() {
    log(.info, .human(colour: true)).error("lost")
    #expect(sink.lines == ["08:00:00.250 \u{1B}[31mERROR\u{1B}[0m   lost"])
  }

  @Test("the log that discards writes nothing")
  func discard() {
    #expect(!Log.discard.writes(.error))
  }

  @Test("a line is one write to the descriptor, and a reader that is gone or stuck holds nobody up")
  func descriptor() throws {
    Signals.ignoreBrokenPipe()
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    let sink = DescriptorSink(ends[1])
    sink.write(Array("one\n".utf8))
    var bytes = [UInt8](repeating: 0, count: 16)
    #expect(read(ends[0], &bytes, 16) == 4)
    let line = [UInt8](repeating: 120, count: 4096)
    for _ in 0..<17 { sink.write(line) }
    close(ends[0])
    sink.write(line)
    close(ends[1])
  }

  @Test(
    "moments are written in UTC with milliseconds",
    arguments: [
      (0, 0, "1970-01-01T00:00:00.000Z"), (951_782_399, 999_999_999, "2000-02-28T23:59:59.999Z"),
      (951_782_400, 1_000_000, "2000-02-29T00:00:00.001Z"), (4_107_542_399, 0, "2100-02-28T23:59:59.000Z"),
      (4_107_542_400, 0, "2100-03-01T00:00:00.000Z"), (-1, 0, "1969-12-31T23:59:59.000Z"),
    ])
  func moments(seconds: Int64, nanoseconds: Int32, text: String) {
    #expect(UnixTime(seconds: seconds, nanoseconds: nanoseconds).rfc3339 == text)
  }

  @Test("moments agree with another calendar on every day of a hundred years")
  func calendar() {
    for day in 0..<36600 {
      let seconds = Int64(day) * 86400 + 3661
      let other = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
      #expect(UnixTime(seconds: seconds).rfc3339 == other.dropLast() + ".000Z")
    }
  }
}
