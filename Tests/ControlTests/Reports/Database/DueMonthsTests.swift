import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Support

@Suite("Which months are due, as version 1.0 asks")
struct DueMonthsTests {
  private func due(_ queue: QueueFixture, at moment: String) async throws -> [String] {
    try await queue.texts(
      "SELECT analysis.period_text(period) || ' ' || is_due FROM analysis.due_months('\(moment)')")
  }

  @Test("none before anything was used")
  func none() async throws {
    try await withQueue { (queue) async throws in
      #expect(try await due(queue, at: "2021-12-01T00:00:00Z") == [])
    }
  }

  @Test("every month from the first use that is over everywhere on earth, and past its grace or not")
  func months() async throws {
    try await withQueue(from: .plantedMonth) { (queue) async throws in
      // UTC-12 reaches November twelve hours after UTC; the grace of three days counts from there.
      #expect(try await due(queue, at: "2020-11-01T11:59:59Z") == ["2020-09 true"])
      #expect(try await due(queue, at: "2020-11-01T12:00:00Z") == ["2020-09 true", "2020-10 false"])
      #expect(try await due(queue, at: "2020-11-04T11:59:59Z") == ["2020-09 true", "2020-10 false"])
      #expect(try await due(queue, at: "2020-11-04T12:00:00Z") == ["2020-09 true", "2020-10 true"])
    }
  }

  @Test("whoever may ask is answered", arguments: ["reporter", "auditor", "clinician"])
  func roles(role: String) async throws {
    try await withQueue(from: .plantedMonth) { (queue) async throws in
      try await withLogin(of: [role], in: queue) { (login) async throws in
        let rows = try await login.query(
          "SELECT period::int FROM analysis.due_months('2020-11-01T12:00:00Z')")
        #expect(try rows.map { try $0.int(0) } == [24248, 24249])
      }
    }
  }

  @Test("a month without use between others is due too")
  func gap() async throws {
    try await withQueue(from: .plantedMonth) { (queue) async throws in
      try await queue.execute("DELETE FROM analysis.usage WHERE period <> 24248")
      let months = try await due(queue, at: "2021-01-20T00:00:00Z")
      #expect(months == ["2020-09 true", "2020-10 true", "2020-11 true", "2020-12 true"])
    }
  }

  @Test("a number that is no month of the programs is never closed")
  func noMonth() async throws {
    try await withQueue(from: .plantedMonth) { (queue) async throws in
      try await queue.execute(
        "SELECT analysis.close_usage(n::smallint, '2020-12-10Z') FROM unnest('{-1,0,13,23999,32400,NULL}'::int[]) n"
      )
      #expect(try await due(queue, at: "2020-11-01T00:00:00Z") == ["2020-09 true"])
    }
  }

  @Test("a month that is closed can be stated whatever the grace is set to afterwards")
  func closed() async throws {
    try await withQueue(from: .plantedMonth) { (queue) async throws in
      try await queue.execute(
        """
        SELECT analysis.close_usage(24248::smallint, '2020-10-10Z');
        UPDATE analysis.setting SET value = '1 year' WHERE name = 'statement_grace';
        DELETE FROM analysis.usage;
        """)
      #expect(try await due(queue, at: "2020-11-10T00:00:00Z") == ["2020-09 true", "2020-10 false"])
    }
  }
}
