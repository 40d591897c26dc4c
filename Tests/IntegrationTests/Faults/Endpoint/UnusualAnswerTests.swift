import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("An unusual answer that is valid")
struct UnusualAnswerTests {
  /// An answer, and what must be true of the row that is stored of it.
  struct Valid: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let body: String
    let stored: String

    init(_ name: String, _ body: String, stored: String) {
      testDescription = name
      self.body = body
      self.stored = stored
    }
  }

  private static func one(_ id: String, _ confidence: String, _ further: String? = nil) -> String {
    Answers.analysis(
      conditions: "[\(Answers.condition(id: "\"\(id)\"", confidence: confidence, further: further))]")
  }

  static let rows = [
    Valid(
      "the newer model's normal at 0.95 is red by its confidence, and marked as normal",
      one("normal", "0.95", #""recommendationText":"No action needed.","attention_map":[[0,1],[1,0]]"#),
      stored: "primary_band = 4 AND primary_normal AND conditions->0->>'recommendation' = 'No action needed.'"
    ),
    Valid(
      "a time that is none is absent", Answers.analysis(time: #""timestamp":"yesterday""#),
      stored: "answered_at IS NULL"),
    Valid(
      "healthy is normal too", one("healthy", "0.2"), stored: "primary_band = 1 AND primary_normal"),
    Valid(
      "infected is a finding", one("infected", "0.61"), stored: "primary_band = 3 AND NOT primary_normal"),
    Valid(
      "what is absent of a condition is absent, not false or empty", one("strep_throat", "0.5"),
      stored: """
        num_nonnulls(serious, consult, endpoint_serious, endpoint_consult) = 0 AND NOT conditions->0 ?| ARRAY['symptoms', 'serious', 'consult',
        'treatment', 'description']
        """),
    Valid(
      "what is null is absent",
      one(
        "x", "0.5",
        #""symptoms":null,"recommendConsultation":null,"treatmentInfo":null,"isPotentiallySerious":false"#),
      stored: """
        conditions->0->>'serious' = 'false' AND NOT serious AND NOT endpoint_serious AND consult IS NULL
        AND NOT conditions->0 ?| ARRAY['symptoms', 'consult', 'treatment', 'recommendation']
        """),
    Valid(
      "no condition is an answer without a finding", Answers.analysis(conditions: "[]"),
      stored: "condition_count = 0 AND primary_id IS NULL"),
    Valid(
      "error: false", Answers.analysis(further: #""error":false"#), stored: "primary_band = 4"),
    Valid(
      "error: null and an empty one", Answers.analysis(further: #""error":"""#), stored: "primary_band = 4"),
    Valid(
      "an id that is a number", Answers.analysis(id: "4711"), stored: "analysis_id = '4711'"),
    Valid(
      "a time without a fraction", Answers.analysis(time: #""timestamp":"2100-03-22T12:34:56Z""#),
      stored: "answered_at = '2100-03-22T12:34:56Z'"),
    Valid(
      "a time with a fraction", Answers.analysis(), stored: "answered_at = '2100-03-22T12:34:56.789Z'"),
    Valid(
      "seconds since 1970", Answers.analysis(time: #""timestamp":4109402096.5"#),
      stored: "answered_at = '2100-03-22T12:34:56.5Z'"),
    Valid(
      "created_at", Answers.analysis(time: #""created_at":"2100-03-22T12:34:56Z""#),
      stored: "answered_at = '2100-03-22T12:34:56Z'"),
    Valid(
      "no time at all, and our own is kept", Answers.analysis(time: nil),
      stored: "answered_at IS NULL AND finished_at > now() - interval '1 hour'"),
    Valid(
      "a user as an object, of which nothing is kept",
      Answers.analysis(
        further: #""user":{"id":"u-7","email":"\#(AccountInstallation.email)","name":"Service"}"#),
      stored: "analysis_id = 'a-1'"),
    Valid(
      "just below an edge", one("x", "0.7999999999"),
      stored: "primary_band = 3 AND primary_confidence = 0.7999999999"),
    Valid("on an edge", one("x", "0.8"), stored: "primary_band = 4"),
    Valid(
      "what nobody knows of", Answers.analysis(further: #""success":true,"new":{"deep":[1,{"a":null}]}"#),
      stored: "primary_id = 'strep_throat'"),
  ]

  @Test("is stored as it is meant, by one call and one unit", arguments: rows)
  func valid(row: Valid) async throws {
    try await AccountInstallation.with(maxAttempts: 1) { installation in
      let backend = try AccountInstallation.backend { _ in Backend.Reply(body: row.body) }
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(try await installation.attempts() == [])
      let row = try await installation.queue.pool.query(
        "SELECT (\(row.stored)) IS TRUE, to_jsonb(r)::text FROM analysis.result r WHERE outcome = 1"
      ).single()
      let whole = try row.string(1)
      #expect(try row.bool(0), "\(whole)")
      #expect(backend.calls.count == 1)
      #expect(try await installation.queue.units == 1)
    }
  }

  @Test("in chunks, and in pieces of one byte, is whole")
  func pieces() async throws {
    try await AccountInstallation.with(jobs: 2, maxAttempts: 1) { installation in
      let backend = try AccountInstallation.backend { call in
        let body = Array(Answers.throat.utf8)
        // Each says that its connection ends, or the second call could be sent on the first one's just then.
        return .raw { connection in
          if call.number == 1 {
            try connection.write(
              "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
            for byte in body { try connection.write(Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8)) }
            try connection.write("0\r\n\r\n")
          } else {
            try connection.write(
              "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: \(body.count)\r\n\r\n")
            for byte in body { try connection.write([byte]) }
          }
        }
      }
      let ended = try await installation.drain(backend.url)
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(try await installation.queue.results == 2)
    }
  }
}
