import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("An answer with 200 that cannot be used")
struct InvalidAnswerTests {
  /// A body that is written by hand, after which the connection is closed.
  private static func raw(_ name: String, _ pieces: String...) -> Row {
    Row(name) { _ in
      .raw { connection in
        for piece in pieces { try connection.write(piece) }
      }
    }
  }

  static let transfers: [Row] = [
    raw("cut by its length", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"id\":\"a-1\","),
    raw("cut within a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\n{\"id\":\"a-1\","),
    raw("cut between chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n"),
    raw("cut by the close", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"id\":\"a-1\",\"type\":\"thr"),
    raw(
      "with a chunk of no length",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n"),
    raw("that is no HTTP", "SSH-2.0-OpenSSH_9.2\r\n"),
    Row("of 2 MiB") { _ in
      Backend.Reply(
        body: Answers.analysis(further: "\"padding\":\"\(String(repeating: "x", count: 2 << 20))\""))
    },
    Row("with a header of 400 kB") { call in
      Backend.Reply(
        body: Answers.throat, headers: (0..<400).map { "X-\($0): \(String(repeating: "y", count: 1000))" })
    },
    Row("with one header line of 400 kB") { _ in
      Backend.Reply(body: Answers.throat, headers: ["X-Long: \(String(repeating: "y", count: 400_000))"])
    },
    Row("compressed without being asked", 200, "\u{1F}\u{8B}", headers: ["Content-Encoding: gzip"]),
  ]

  static let contents: [Row] = [
    Row("HTML", 200, "<!DOCTYPE html><html><body>Maintenance</body></html>"),
    Row("empty", 200),
    Row("bad JSON", 200, #"{"id":"a-1","type":"thr"#),
    Row("JSON and more after it", 200, Answers.throat + "{}"),
    Row("no object", 200, "[\(Answers.throat)]"),
    Row("null", 200, "null"),
    Row("too deep", 200, String(repeating: "[", count: 10_000)),
    Row("no id", 200, Answers.analysis(id: nil)),
    Row("an empty id", 200, Answers.analysis(id: #""""#)),
    Row("an id with a control character", 200, Answers.analysis(id: #""a\u0000""#)),
    Row(
      "an id of a megabyte less a little", 200,
      Answers.analysis(id: "\"\(String(repeating: "a", count: 1_000_000))\"")),
    Row("no type", 200, Answers.analysis(type: nil)),
    Row("an unknown type", 200, Answers.analysis(type: #""nose""#)),
    Row("the other type", 200, Answers.analysis(type: #""ear""#)),
    Row("no conditions", 200, Answers.analysis(conditions: nil)),
    Row("conditions of another shape", 200, Answers.analysis(conditions: #"{"id":"x"}"#)),
    Row(
      "a confidence above 1", 200, Answers.analysis(conditions: "[\(Answers.condition(confidence: "1.5"))]")),
    Row(
      "a confidence below 0", 200, Answers.analysis(conditions: "[\(Answers.condition(confidence: "-0.1"))]")),
    Row(
      "a confidence that is no number", 200,
      Answers.analysis(conditions: "[\(Answers.condition(confidence: "NaN"))]")),
    Row(
      "a confidence beyond all numbers", 200,
      Answers.analysis(conditions: "[\(Answers.condition(confidence: "1e999"))]")),
    Row(
      "a confidence as text", 200,
      Answers.analysis(conditions: "[\(Answers.condition(confidence: "\"high\""))]")),
    Row(
      "a second condition without a name", 200,
      Answers.analysis(conditions: "[\(Answers.condition()),\(Answers.condition(name: "null"))]")),
    Row(
      "101 conditions", 200,
      Answers.analysis(
        conditions: "[\(Array(repeating: Answers.condition(), count: 101).joined(separator: ","))]")),
    Row(
      "a condition that was made up", 200,
      Answers.analysis(
        conditions: "[\(Answers.condition(further: #""error":"","error_note":"This is a fallback result""#))]"
      )),
    Row("the condition analysis_error") { .analysisError($0) },
    Row(
      "a condition with isError", 200,
      Answers.analysis(
        conditions:
          #"[{"id":"x","name":"X","confidence":0,"isError":true,"error":"inference failed","diagnostic":{"stage":"inference"}}]"#
      )),
    Row("error: true without a code", 200, #"{"error":true,"message":"It failed."}"#),
    Row("error as text", 200, #"{"error":"Something went wrong"}"#),
  ]

  @Test(
    "is tried again, marked as maybe counted, then dead; no unit is used", arguments: transfers + contents)
  func invalid(row: Row) async throws {
    try await AccountInstallation.with { installation in
      let backend = try AccountInstallation.backend(row.answer)
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      let attempts = try await installation.attempts()
      #expect(attempts.map(\.kind) == ["invalid_answer", "invalid_answer"], "\(attempts)")
      #expect(
        attempts.allSatisfy { $0.consumed && $0.maybeCounted && $0.calls == 1 && $0.message.count < 600 })
      #expect(try await installation.queue.results == 0)
      #expect(try await installation.queue.count("dead") == 1)
      #expect(try await installation.queue.units == 0)
      #expect(backend.calls.count == 2)
      #expect(Set(backend.calls.map(\.key)).count == 1)
    }
  }

  /// Answers that name a finding, each in another way.
  static let findings: [Row] = [
    Row("a page", 200, "<html>peritonsillar_abscess</html>"),
    Row("cut", 200, #"{"id":"a-1","type":"throat","conditions":[{"id":"peritonsillar_abscess""#),
    Row(
      "a condition without a name", 200,
      Answers.analysis(
        conditions: #"[\#(Answers.condition()),{"id":"peritonsillar_abscess","confidence":0.9}]"#)),
    Row(
      "a failure with its words", 200,
      #"{"error":true,"message":"peritonsillar_abscess","code":"peritonsillar_abscess","error_id":"peritonsillar_abscess"}"#
    ),
    Row("the name of a member", 200, #"{"peritonsillar_abscess":true}"#),
    Row("a content type", 200, "[]", headers: ["Content-Type: application/peritonsillar_abscess"]),
  ]

  @Test("with a finding is told by its shape: no log and no row says what was found", arguments: findings)
  func findingsAreNotTold(row: Row) async throws {
    try await AccountInstallation.with(maxAttempts: 1) { installation in
      let backend = try AccountInstallation.backend(row.answer)
      let ended = try await installation.drain(backend.url)
      let attempt = try #require(try await installation.attempts().first)
      #expect(attempt.message.contains("It had status 200, "), "\(attempt.message)")
      #expect(!ended.messages.contains("abscess") && !ended.output.contains("abscess"), "\(ended.messages)")
      let rows = try await installation.queue.number(
        """
        SELECT (SELECT count(*) FROM analysis.attempt_error e WHERE e::text LIKE '%abscess%')::int
             + (SELECT count(*) FROM analysis.dead d WHERE d::text LIKE '%abscess%')::int
        """)
      #expect(rows == 0)
    }
  }

  @Test(
    "once does no harm: the next attempt is stored", arguments: [contents[0], transfers[0], transfers[7]])
  func once(row: Row) async throws {
    try await AccountInstallation.with { installation in
      let backend = try AccountInstallation.backend { call in
        call.number == 1 ? try row.answer(call) : .analysis(call)
      }
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(try await installation.queue.results == 1)
      #expect(try await installation.queue.units == 1)
      #expect(try await installation.recordedCalls == 2)
      #expect(backend.calls.count == 2)
    }
  }
}
