import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Support

@Suite("Reports of roles that see some clinics only")
struct ClinicReportTests {
  /// The planted month, in which Ana is of the north and Bob of the south, and a role that sees the north.
  private func with(_ body: (_ all: QueueFixture, _ north: QueueFixture) async throws -> Void)
    async throws
  {
    try await withQueue(from: .plantedMonth) { (queue) async throws in
      try await queue.execute(
        """
        SELECT analysis.add_clinic('north'), analysis.add_clinic('south');
        SELECT analysis.assign_clinic(0::smallint, 'ana', 'north'), analysis.assign_clinic(0::smallint, 'bob', 'south')
        """)
      try await withLoginRole(
        on: queue.pool, named: "north", in: ["analysis_reporter", "analysis_clinician"]
      ) {
        (role) async throws in
        try await queue.execute("SELECT analysis.grant_clinics('\(role)', '{north}')")
        try await withQueue(in: queue.database.login(role)) { try await body(queue, $0) }
      }
    }
  }

  /// The first field of each line of a CSV but the first.
  private func column(_ place: Int, of text: String) -> Set<String> {
    Set(
      text.split(separator: "\r\n").dropFirst().map { line in
        String(line.split(separator: ",", omittingEmptySubsequences: false)[place])
      })
  }

  @Test("usage and analyses are of their users, conditions and totals count no others")
  func drafts() async throws {
    try await with { (all, north) async throws in
      #expect(column(0, of: try await all.report(.usage, .csv)).count == 4)
      #expect(column(0, of: try await north.report(.usage, .csv)) == ["ana"])
      let (whole, part) = (try await all.report(.analyses, .csv), try await north.report(.analyses, .csv))
      #expect(whole.contains("bob") && part.contains("ana") && !part.contains("bob"))
      #expect(part.split(separator: "\r\n").count == 1 + 3)
      let (conditions, fewer) = (
        try await all.report(.conditions, .csv), try await north.report(.conditions, .csv)
      )
      #expect(conditions.contains("HYPERLINK") && !fewer.contains("HYPERLINK"))
      let (totals, theirs) = (try await all.report(.summary, .csv), try await north.report(.summary, .csv))
      #expect(totals.contains("users,4\r\n") && theirs.contains("users,1\r\n"), "\(totals) \(theirs)")
      #expect(totals.contains("throat,3\r\n") && theirs.contains("throat,2\r\n"), "\(totals) \(theirs)")
    }
  }

  @Test(
    "a month that could be closed is not closed by them, and they are told who has to; then its lines are theirs"
  )
  func closing() async throws {
    try await with { (all, north) async throws in
      let due = StatementTests.due
      let draft = try await north.report(.usage, .csv, at: due)
      #expect(column(0, of: draft) == ["ana"])
      let error = await #expect(throws: PostgreSQLError.self) { try await north.close(at: due) }
      #expect(error?.message.contains("sees some clinics only and cannot close 2020-10 for all") == true)
      #expect(error?.hint?.contains("a role that is not restricted to clinics") == true)
      #expect(error?.sqlState == "42501")
      #expect(try await all.number("SELECT count(*)::int FROM analysis.statement") == 0)
      // Taking on another of its roles does not help.
      let other = await #expect(throws: PostgreSQLError.self) {
        try await north.execute(
          "SET ROLE analysis_reporter; SELECT analysis.close_usage(24249::smallint, '2020-11-05Z')")
      }
      #expect(other?.sqlState == "42501")

      try await all.close(at: due)
      let closed = try await all.report(.usage, .csv, at: due)
      #expect(column(0, of: closed).count == 4)
      let theirs = try await north.report(.usage, .csv, at: due)
      #expect(column(0, of: theirs) == ["ana"])
      #expect(closed.contains(theirs.split(separator: "\r\n")[1]))
      #expect(try await north.report(.usage, .csv, at: "2021-01-01T00:00:00Z") == theirs)
    }
  }

  @Test(
    "an unrestricted member of the reporters reports and closes as the owner does",
    arguments: ReportKind.allCases)
  func unrestricted(kind: ReportKind) async throws {
    try await withQueue(from: .plantedMonth) { (queue) async throws in
      try await withLoginRole(
        on: queue.pool, named: "reporter", in: ["analysis_reporter", "analysis_clinician"]
      ) {
        (role) async throws in
        try await withQueue(in: queue.database.login(role)) { (reporter) async throws in
          let before = try await queue.report(kind, .csv)
          #expect(try await reporter.report(kind, .csv) == before)
          if kind == .usage {
            #expect(try await reporter.close(at: StatementTests.due))
            #expect(try await reporter.report(kind, .csv, at: StatementTests.due) == before)
          }
        }
      }
    }
  }

  @Test("what was found in whose picture takes a clinician's role")
  func diagnoses() async throws {
    try await withQueue(from: .plantedMonth) { (queue) async throws in
      try await withLoginRole(on: queue.pool, named: "reporter", in: ["analysis_reporter"]) {
        (role) async throws in
        try await withQueue(in: queue.database.login(role)) { (reporter) async throws in
          let error = await #expect(throws: ReportsError.self) { try await reporter.report(.analyses, .csv) }
          #expect(error?.description.contains("lacks a role of the database") == true)
          #expect(error?.description.contains("open_analyses") == false)
          #expect((error?.underlying as? PostgreSQLError)?.sqlState == "42501")
        }
      }
    }
  }
}
