import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control

@Suite("Counts of few persons")
struct HiddenCountTests {
  /// How many persons each cell has, the lines as `name:cell cell …`, and which cells are hidden below 5.
  @Test(
    "are hidden, and so is the next smallest where a sum would give one away",
    arguments: [
      // A row with its sum.
      ([3, 10, 20, 33], ["row:1 2 3 4"], [1, 2]),
      ([3, 4, 20, 27], ["row:1 2 3 4"], [1, 2]),
      ([10, 20, 30], ["row:1 2 3"], []),
      // Nobody is nobody: 0 is shown, and hides nothing.
      ([0, 10, 3, 13], ["row:1 2 3 4"], [2, 3]),
      ([0, 3, 3], ["row:1 2 3"], [2, 3]),
      ([0, 6, 6], ["row:1 2 3"], []),
      // Without a sum nothing is given away.
      ([3, 10, 20], [], [1]),
      // A hidden cell is at least 1: two that add up to 2, or five to 5, would be 1 each.
      ([1, 1, 20, 22], ["row:1 2 3 4"], [1, 2, 3]),
      ([2, 3, 20, 25], ["row:1 2 3 4"], [1, 2, 3]),
      ([3, 3, 20, 26], ["row:1 2 3 4"], [1, 2]),
      ([1, 1, 1, 1, 1, 20, 25], ["row:1 2 3 4 5 6 7"], [1, 2, 3, 4, 5, 6]),
      ([1, 1, 0, 2], ["row:1 2 3 4"], [1, 2, 4]),
      // Two rows and two columns with their sums: one small cell takes one of its row, one of its column, and the
      // one where these meet.
      (
        [2, 7, 9, 6, 8, 14, 8, 15, 23], ["a:1 2 3", "b:4 5 6", "s:7 8 9", "x:1 4 7", "y:2 5 8", "t:3 6 9"],
        [1, 2, 4, 5]
      ),
      (
        [6, 7, 13, 6, 8, 14, 12, 15, 27], ["a:1 2 3", "b:4 5 6", "s:7 8 9", "x:1 4 7", "y:2 5 8", "t:3 6 9"],
        []
      ),
    ])
  func cells(persons: [Int64], lines: [String], hidden: [Int32]) async throws {
    try await withQueue { (queue) async throws in
      var (names, cells): ([String], [Int32]) = ([], [])
      for line in lines {
        let parts = line.split(separator: ":")
        for cell in parts[1].split(separator: " ") {
          names.append(String(parts[0]))
          cells.append(Int32(cell) ?? 0)
        }
      }
      func hiddenCells(below least: Int32) async throws -> [Int32] {
        try await queue.pool.query(
          "SELECT analysis.hidden_cells($1, $2, $3, $4)",
          [.array(persons), .array(names), .array(cells), .int32(least)]
        ).single().array(0, of: Int32.self).sorted()
      }
      #expect(try await hiddenCells(below: 5) == hidden)
      #expect(try await hiddenCells(below: 1) == [])
    }
  }

  /// By hand for 8 of 10: (0.8 + 0.19207 ± 1.95996 √(0.016 + 0.0096036)) / 1.384146.
  @Test(
    "A share has its interval by Wilson's score",
    arguments: [
      (8, 10, "0.8000 0.4902 0.9433"), (0, 1, "0.0000 0.0000 0.7935"), (1, 1, "1.0000 0.2065 1.0000"),
      (5, 5, "1.0000 0.5655 1.0000"), (1, 2, "0.5000 0.0945 0.9055"), (950, 1000, "0.9500 0.9347 0.9619"),
      (0, 0, ""),
    ])
  func wilson(hits: Int, count: Int, interval: String) async throws {
    try await withQueue { (queue) async throws in
      #expect(
        try await queue.text(
          "SELECT concat_ws(' ', w.o_share, w.o_low, w.o_high) FROM analysis.wilson(\(hits), \(count)) w")
          == interval)
    }
  }

  /// Twenty patients of a clinic, of whom 15 have tonsillitis (6 red, 2 orange, 7 yellow) and 14 otitis (8 red, 6 orange);
  /// two are serious. Of tonsillitis clinicians agree with what is red and yellow.
  private static let clinic = """
    \(makingMonths(24249...24249)) SELECT analysis.add_clinic('north');
    INSERT INTO analysis.account (shard, user_id, user_ref, zone, key_salt, created_at, clinic_id)
    SELECT 0, i, 'p' || i, 'UTC', decode(repeat('00', 32), 'hex'), '2020-01-01Z', 1 FROM generate_series(1, 20) i;
    INSERT INTO analysis.result (shard, period, job_id, user_id, kind, outcome, attempt, calls, finished_at, analysis_id,
      condition_count, conditions, primary_id, primary_name, primary_confidence, primary_band, primary_normal, serious)
    SELECT 0, 24249, v.start + i, i, 1, 1, 1, 1, '2020-10-05Z', 'a', 1,
      jsonb_build_array(jsonb_build_object('id', v.id, 'name', initcap(v.id), 'confidence', v.confidence, 'band', v.band,
        'normal', false)),
      v.id, initcap(v.id), v.confidence, v.band, false, v.id = 'tonsillitis' AND i <= 2
    FROM (VALUES (100, 1, 6, 'tonsillitis', 0.85::float8, 4::smallint), (100, 7, 8, 'tonsillitis', 0.65, 3),
      (100, 9, 15, 'tonsillitis', 0.45, 2), (200, 1, 8, 'otitis', 0.9, 4), (200, 9, 14, 'otitis', 0.7, 3))
      v(start, first, last, id, confidence, band)
    CROSS JOIN LATERAL generate_series(v.first, v.last) i;
    INSERT INTO analysis.review (shard, period, version, verdict, job_id, user_id, at, reviewer, primary_id, primary_name,
      primary_confidence, primary_band, primary_normal)
    SELECT 0, 24249, 1, CASE r.primary_band WHEN 3 THEN 2 ELSE 1 END, r.job_id, r.user_id, now(), 'dr_a', r.primary_id,
      r.primary_name, r.primary_confidence, r.primary_band, r.primary_normal
    FROM analysis.result r WHERE r.primary_id = 'tonsillitis';
    """

  private func with(_ body: (_ all: QueueFixture, _ north: QueueFixture) async throws -> Void) async throws {
    try await withQueue { (queue) async throws in
      try await queue.pool.execute(script: Self.clinic)
      try await withLoginRole(
        on: queue.pool, named: "north", in: ["analysis_reporter", "analysis_clinician"]
      ) { (role) async throws in
        try await queue.execute("SELECT analysis.grant_clinics('\(role)', '{north}')")
        try await withQueue(in: queue.database.login(role)) { try await body(queue, $0) }
      }
    }
  }

  private func lines(_ text: String) -> [String] { text.split(separator: "\r\n").map(String.init) }

  @Test("Conditions and totals hide the same from a login of some clinics, and nothing from others")
  func conditions() async throws {
    try await with { (all, north) async throws in
      #expect(
        lines(try await north.report(.conditions, .csv)).dropFirst() == [
          "2020-10,otitis,Otitis,false,0,0,<5,<5,14", "2020-10,tonsillitis,Tonsillitis,false,0,7,<5,<5,15",
        ])
      #expect(
        lines(try await all.report(.conditions, .csv)).dropFirst() == [
          "2020-10,otitis,Otitis,false,0,0,6,8,14", "2020-10,tonsillitis,Tonsillitis,false,0,7,2,6,15",
        ])
      let json = try await north.report(.conditions, .json)
      #expect(
        json.contains(
          #""green":0,"yellow":7,"orange":null,"red":null,"total":15,"hidden":["orange","red"]}"#), "\(json)")
      #expect(try await north.report(.conditions, .table).contains("     <5   <5     14"))
      let totals = lines(try await north.report(.summary, .csv))
      for line in ["serious,<5", "throat,29", "green,0", "yellow,7", "orange,8", "red,14", "normal,0"] {
        #expect(totals.contains(line), "\(line): \(totals)")
      }
      #expect(try await all.report(.summary, .csv).contains("serious,2\r\n"))
      // By the functions themselves no more is answered.
      let direct = try await north.text(
        "SELECT concat_ws('/', coalesce(serious::text, '-'), red) FROM analysis.finding_counts(24249::smallint)"
      )
      #expect(direct == "-/14")
    }
  }

  @Test("Agreement and calibration hide the same from a login of some clinics, and say so in JSON")
  func reviews() async throws {
    try await with { (all, north) async throws in
      let hidden = "<5,<5,<5,<5,<5,<5,<5"
      let whole = "all,,,,,13,2,0,15,0.8667,0.6212,0.9626"
      #expect(
        lines(try await north.report(.agreement, .csv)).dropFirst() == [
          "condition,tonsillitis,Tonsillitis,false,yellow,7,0,0,7,1.0,0.6457,1.0",
          "condition,tonsillitis,Tonsillitis,false,orange,\(hidden)",
          "condition,tonsillitis,Tonsillitis,false,red,\(hidden)", whole,
        ])
      #expect(
        lines(try await all.report(.agreement, .csv)).dropFirst(2) == [
          "condition,tonsillitis,Tonsillitis,false,orange,0,2,0,2,0.0,0.0,0.6576",
          "condition,tonsillitis,Tonsillitis,false,red,6,0,0,6,1.0,0.6097,1.0", whole,
        ])
      let tenths = lines(try await north.report(.calibration, .csv)).dropFirst()
      // 6 at 0.85, 2 at 0.65 and 7 at 0.45: (6 x 0.15 + 2 x 0.65 + 7 x 0.55) / 15.
      #expect(
        Array(tenths.dropFirst(4)) == [
          "0.4,0.5,0.45,7,0,0,7,1.0,0.6457,1.0,0.55", "0.5,0.6,,0,0,0,0,,,,", "0.6,0.7,<5,\(hidden),<5",
          "0.7,0.8,,0,0,0,0,,,,", "0.8,0.9,<5,\(hidden),<5", "0.9,1.0,,0,0,0,0,,,,",
          // The mean and the error of all would tell of the two that are hidden.
          ",,<5,13,2,0,15,0.8667,0.6212,0.9626,<5",
        ], "\(tenths)")
      #expect(
        lines(try await all.report(.calibration, .csv)).last
          == ",,0.6367,13,2,0,15,0.8667,0.6212,0.9626,0.4033")
      let json = try await north.report(.calibration, .json)
      #expect(
        json.contains(
          #"{"from":0.6,"to":0.7,"confidence":null,"agree":null,"disagree":null,"unsure":null,"persons":null,"#
            + #""agreement":null,"low":null,"high":null,"error":null,"hidden":["confidence","agree","disagree","#
            + #""unsure","persons","agreement","low","high","error"]}"#), "\(json)")
    }
  }

  @Test("The setting moves the bound, and 1 hides nothing")
  func setting() async throws {
    try await with { (all, north) async throws in
      try await all.execute("UPDATE analysis.setting SET value = '3' WHERE name = 'report_threshold'")
      #expect(
        lines(try await north.report(.conditions, .csv))[1] == "2020-10,otitis,Otitis,false,0,0,<3,<3,14")
      try await all.execute("UPDATE analysis.setting SET value = '1' WHERE name = 'report_threshold'")
      for kind in [ReportKind.conditions, .summary, .agreement, .calibration] {
        let (part, whole) = (try await north.report(kind, .csv), try await all.report(kind, .csv))
        #expect(part == whole, "\(kind)")
      }
      for value in ["0", "1001", "5 persons", ""] {
        await #expect(throws: PostgreSQLError.self, "\(value)") {
          try await all.execute(
            "UPDATE analysis.setting SET value = '\(value)' WHERE name = 'report_threshold'")
        }
      }
    }
  }

  @Test(
    "A login of some clinics reads reviews of one month: two ranges would tell a month's by their difference")
  func range() async throws {
    try await with { (all, north) async throws in
      for kind in [ReportKind.agreement, .calibration] {
        let months = ReportRequest(
          kind, month: Written.period("2020-09"), format: .csv, lastMonth: Written.october)
        let failure = await #expect(throws: ReportsError.self) { try await north.report(months) }
        #expect(failure?.code == .refused)
        #expect(failure?.message.contains("reads reviews of one month at a time") == true)
        #expect(failure?.advice?.contains("each month by itself") == true)
        _ = try await all.report(months)
      }
      #expect(try await Reporter(north.pool).readsReviewsByMonth())
      #expect(try await !Reporter(all.pool).readsReviewsByMonth())
      try await all.execute("UPDATE analysis.setting SET value = '1' WHERE name = 'report_threshold'")
      #expect(try await !Reporter(north.pool).readsReviewsByMonth())
      _ = try await north.report(
        ReportRequest(.agreement, month: Written.period("2020-09"), format: .csv, lastMonth: Written.october))
    }
  }

  @Test("A statement that a login of some clinics makes leaves out conditions with counts of few persons")
  func statement() async throws {
    try await with { (all, north) async throws in
      let counted = """
        SELECT count(*)::int FROM analysis.statement_conditions(24249::smallint, 'north', $1)
        """
      for (login, count) in [(all, 2), (north, 0)] {
        let reading = try await login.text(
          "SELECT analysis.open_statement(24249::smallint, 'north', NULL)")
        #expect(try await login.pool.query(counted, [.text(reading)]).single().int(0) == count)
      }
    }
  }

  /// What was found in the patients of a clinic from the first to the last number, a picture each. `id` is nil where
  /// nothing was found.
  private struct Finding {
    let clinic: String
    let first, last: Int
    var id: String?
    var band = 4
    var serious = false
    var consult = false
    /// How many pictures each of them has.
    var pictures = 1
  }

  /// A month with nothing but these findings, and a login that sees the north, or south too.
  private func with(
    _ findings: [Finding], seeing clinics: String = "{north}",
    _ body: (_ all: QueueFixture, _ some: QueueFixture) async throws -> Void
  ) async throws {
    try await withQueue { (queue) async throws in
      try await queue.execute(
        "\(makingMonths(24249...24249)) SELECT analysis.add_clinic('north'), analysis.add_clinic('south')")
      for finding in findings {
        let id = finding.id.map { "'\($0)'" } ?? "NULL"
        try await queue.pool.execute(
          script: """
            INSERT INTO analysis.account (shard, user_id, user_ref, zone, key_salt, created_at, clinic_id)
            SELECT 0, i, 'p' || i, 'UTC', decode(repeat('00', 32), 'hex'), '2020-01-01Z', c.id
            FROM generate_series(\(finding.first), \(finding.last)) i, analysis.clinic c
            WHERE c.name = '\(finding.clinic)' ON CONFLICT DO NOTHING;
            INSERT INTO analysis.result (shard, period, job_id, user_id, kind, outcome, attempt, calls, finished_at,
              analysis_id, condition_count, conditions, primary_id, primary_name, primary_confidence, primary_band,
              primary_normal, serious, consult)
            SELECT 0, 24249, m.job + (row_number() OVER ())::int, i, 1, 1, 1, 1, '2020-10-05Z', 'a',
              CASE WHEN v.id IS NULL THEN 0 ELSE 1 END,
              CASE WHEN v.id IS NULL THEN '[]' ELSE jsonb_build_array(jsonb_build_object(
                'id', v.id, 'name', initcap(v.id), 'confidence', 0.9, 'band', \(finding.band), 'normal', false)) END,
              v.id, initcap(v.id), CASE WHEN v.id <> '' THEN 0.9 END,
              CASE WHEN v.id <> '' THEN \(finding.band) END, CASE WHEN v.id <> '' THEN false END,
              \(finding.serious), \(finding.consult)
            FROM (SELECT coalesce(max(r.job_id), 0) AS job FROM analysis.result r) m,
              (SELECT \(id)::text AS id) v,
              generate_series(\(finding.first), \(finding.last)) i, generate_series(1, \(finding.pictures));
            """)
      }
      try await queue.pool.execute(
        script: """
          INSERT INTO analysis.account_plan (shard, user_id, valid_from, plan_id)
          SELECT a.shard, a.user_id, '2020-01-01Z', 1 FROM analysis.account a;
          INSERT INTO analysis.usage (shard, user_id, period, used)
          SELECT r.shard, r.user_id, r.period, count(*) FROM analysis.result r GROUP BY r.shard, r.user_id, r.period
          """)
      try await withLoginRole(on: queue.pool, named: "some", in: ["analysis_reporter"]) { role in
        try await queue.execute("SELECT analysis.grant_clinics('\(role)', '\(clinics)')")
        try await withQueue(in: queue.database.login(role)) { try await body(queue, $0) }
      }
    }
  }

  @Test("Two hidden counts of which the sum is 2 do not give each other away")
  func sumOfTwo() async throws {
    try await with([
      Finding(clinic: "north", first: 1, last: 1, id: "measles"),
      Finding(clinic: "north", first: 2, last: 2, id: "mumps"),
      Finding(clinic: "north", first: 3, last: 22, id: "tonsillitis"),
      Finding(clinic: "north", first: 23, last: 52, id: "wax"),
    ]) { (_, north) async throws in
      #expect(
        lines(try await north.report(.conditions, .csv)).dropFirst() == [
          "2020-10,measles,Measles,false,0,0,0,<5,<5", "2020-10,mumps,Mumps,false,0,0,0,<5,<5",
          "2020-10,tonsillitis,Tonsillitis,false,0,0,0,<5,<5", "2020-10,wax,Wax,false,0,0,0,30,30",
        ])
      #expect(try await north.report(.summary, .csv).contains("red,52\r\n"))
    }
  }

  @Test(
    "The totals give no hidden count away, nor who is not what nearly all are",
    arguments: [
      // What is serious is orange, yellow and red: of the three only one would be unknown.
      (
        [(1, 1, 3, true, true), (2, 2, 1, false, true), (3, 12, 2, true, true), (13, 24, 4, true, true)],
        ["serious", "consult", "orange", "green"], ["throat"]
      ),
      // Who has a condition and who has none are all the pictures.
      (
        [(1, 17, 4, false, false), (18, 18, 0, false, false)],
        ["without_condition", "red", "serious"], ["throat", "green"]
      ),
      // What is not serious is green.
      ([(1, 36, 4, true, true), (37, 37, 1, false, true)], ["serious", "green", "red"], ["throat"]),
      // Nothing else is hidden, and one is not serious, advises no consultation, or one and not the other.
      ([(1, 19, 4, true, true), (20, 20, 4, false, true)], ["serious", "consult"], ["red"]),
      ([(1, 19, 4, false, true), (20, 20, 4, false, false)], ["serious", "consult"], ["red"]),
      ([(1, 19, 4, true, true), (20, 20, 4, false, true), (21, 40, 4, false, false)], ["serious"], ["red"]),
      ([(1, 19, 4, true, true), (20, 20, 4, true, false), (21, 40, 4, false, false)], ["consult"], ["red"]),
      // Of those who have a condition one is not serious.
      ([(1, 19, 4, true, true), (20, 20, 4, false, false), (21, 40, 0, false, false)], ["serious"], ["red"]),
      // Of five and more each.
      (
        [(1, 19, 4, true, true), (20, 40, 2, false, true), (41, 50, 0, false, false)], [],
        ["serious", "consult", "without_condition", "yellow", "red", "orange", "throat"]
      ),
    ] as [([(Int, Int, Int, Bool, Bool)], [String], [String])])
  func totals(findings: [(Int, Int, Int, Bool, Bool)], hidden: [String], shown: [String]) async throws {
    try await with(
      findings.map { first, last, band, serious, consult in
        Finding(
          clinic: "north", first: first, last: last, id: band == 0 ? nil : "tonsillitis", band: band,
          serious: serious, consult: consult)
      }
    ) { (all, north) async throws in
      let totals = lines(try await north.report(.summary, .csv))
      for measure in hidden { #expect(totals.contains("\(measure),<5"), "\(measure): \(totals)") }
      let whole = lines(try await all.report(.summary, .csv))
      for measure in shown {
        let line = whole.first { $0.hasPrefix(measure + ",") }
        #expect(line != nil && totals.contains { $0 == line }, "\(measure): \(totals)")
      }
    }
  }

  /// The conditions of a clinic's statement, as a login is answered them.
  private func statement(of clinic: String, to login: QueueFixture) async throws -> [String] {
    let reading = try await login.text(
      "SELECT analysis.open_statement(24249::smallint, '\(clinic)', NULL)")
    return try await login.pool.query(
      "SELECT o_id FROM analysis.statement_conditions(24249::smallint, $1, $2)",
      [.text(clinic), .text(reading)]
    ).map { try $0.string(0) }
  }

  @Test("An erasure shows no count of a closed statement that was hidden")
  func erasure() async throws {
    try await with([
      Finding(clinic: "north", first: 1, last: 1, id: "measles", pictures: 5),
      Finding(clinic: "north", first: 2, last: 21, id: "otitis"),
      Finding(clinic: "north", first: 22, last: 60, id: "tonsillitis"),
      Finding(clinic: "north", first: 1, last: 30, id: "wax"),
    ]) { (all, north) async throws in
      #expect(try await all.close(at: StatementTests.due))
      #expect(try await statement(of: "north", to: north) == ["tonsillitis", "wax"])
      try await all.execute("SELECT analysis.erase_user(0::smallint, 'p1', NULL, true)")
      // What was found in the person alone has gone with them.
      #expect(try await statement(of: "north", to: all) == ["otitis", "tonsillitis", "wax"])
      // What was found in the person would be told by the others of the statement, too.
      let left = try await statement(of: "north", to: north)
      #expect(left == ["otitis", "tonsillitis"], "\(left)")
      try await all.execute("DELETE FROM analysis.result")
      #expect(try await statement(of: "north", to: north) == [])
    }
  }

  @Test(
    "Of a clinic's only patient nothing that was found stays in a closed month, and each number that is billed does"
  )
  func onlyPatient() async throws {
    try await with([
      Finding(clinic: "south", first: 1, last: 1, id: "quinsy", pictures: 3),
      Finding(clinic: "north", first: 2, last: 40, id: "quinsy"),
    ]) { (all, _) async throws in
      #expect(try await all.close(at: StatementTests.due))
      #expect(try await statement(of: "south", to: all) == ["quinsy"])
      let refused = await #expect(throws: PostgreSQLError.self) {
        try await all.execute("DELETE FROM analysis.statement_condition")
      }
      #expect(refused?.sqlState == "55000")
      let billed = """
        SELECT string_agg(s::text, ' ' ORDER BY s) FROM analysis.statement_segment s
        """
      let before = try await all.text(billed)
      try await all.execute("SELECT analysis.erase_user(0::smallint, 'p1', NULL, true)")
      #expect(try await statement(of: "south", to: all) == [])
      #expect(try await statement(of: "north", to: all) == ["quinsy"])
      #expect(try await all.text(billed) == before)
    }
  }

  @Test("The persons of a closed month are counted for it, wherever they are by now")
  func moved() async throws {
    try await with([
      Finding(clinic: "south", first: 1, last: 5, id: "quinsy"),
      Finding(clinic: "south", first: 11, last: 14, id: "mumps"),
      Finding(clinic: "south", first: 21, last: 25),
      Finding(clinic: "north", first: 31, last: 35, id: "mumps"),
    ]) { (all, _) async throws in
      #expect(try await all.close(at: StatementTests.due))
      #expect(try await statement(of: "south", to: all) == ["mumps", "quinsy"])
      // All with quinsy go to the north after the month, and those with mumps there come.
      for user in 1...5 {
        try await all.execute("SELECT analysis.assign_clinic(0::smallint, 'p\(user)', 'north')")
        try await all.execute("SELECT analysis.assign_clinic(0::smallint, 'p\(user + 30)', 'south')")
      }
      // Nothing was found in who is erased, so five had quinsy, and four mumps.
      try await all.execute("SELECT analysis.erase_user(0::smallint, 'p21', NULL, true)")
      #expect(try await statement(of: "south", to: all) == ["quinsy"])
      #expect(try await statement(of: "north", to: all) == ["mumps"])
      // What the erasure has left stays, whoever would remove it.
      for rows in ["", " WHERE id = 'quinsy'", " WHERE id = 'mumps'"] {
        let refused = await #expect(throws: PostgreSQLError.self, "\(rows)") {
          try await all.execute("DELETE FROM analysis.statement_condition\(rows)")
        }
        #expect(refused?.sqlState == "55000")
      }
    }
  }

  @Test(
    "A statement leaves out what the other clinics' statements, or the report of all, would tell by a difference"
  )
  func twoClinics() async throws {
    try await with(
      [
        // Of y two of the north: it hides x there, and z in both together.
        Finding(clinic: "north", first: 1, last: 2, id: "y"),
        Finding(clinic: "north", first: 3, last: 8, id: "x"),
        Finding(clinic: "north", first: 9, last: 18, id: "z"),
        Finding(clinic: "north", first: 19, last: 58, id: "w"),
        Finding(clinic: "south", first: 101, last: 130, id: "x"),
        Finding(clinic: "south", first: 131, last: 135, id: "z"),
        Finding(clinic: "south", first: 136, last: 175, id: "w"),
      ], seeing: "{north,south}"
    ) { (all, both) async throws in
      #expect(
        lines(try await both.report(.conditions, .csv)).dropFirst() == [
          "2020-10,w,W,false,0,0,0,80,80", "2020-10,x,X,false,0,0,0,36,36", "2020-10,y,Y,false,0,0,0,<5,<5",
          "2020-10,z,Z,false,0,0,0,<5,<5",
        ])
      for clinic in ["north", "south"] {
        #expect(try await statement(of: clinic, to: both) == ["w"], "\(clinic)")
      }
      #expect(try await statement(of: "south", to: all) == ["w", "x", "z"])
    }
  }

  @Test("Several months are added up, and a month on its own is not")
  func months() async throws {
    try await withQueue(from: .plantedMonth) { queue in
      let request = ReportRequest(
        .agreement, month: Written.period("2020-09"), format: .csv, lastMonth: Written.october)
      // That of September, and the seven of October.
      #expect(lines(try await queue.report(request)).last == "all,,,,,5,2,1,3,0.7143,0.3589,0.9178")
      let one = try await queue.report(.agreement, .csv, month: "2020-09")
      #expect(lines(one).last == "all,,,,,1,0,0,1,1.0,0.2065,1.0")
      let entries = try await queue.texts("SELECT object FROM analysis.audit_draft ORDER BY at")
      #expect(entries == ["report:agreement:2020-09:2020-10", "report:agreement:2020-09"])
    }
  }
}
