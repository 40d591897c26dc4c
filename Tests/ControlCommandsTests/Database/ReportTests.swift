import CommandLineTool
import PostgreSQL
import Testing

@testable import ControlCommands

@Suite("analysisctl report, reconcile and status, against a server")
struct ReportTests {
  /// A user with one analysed and one waiting job in the running month.
  private func with(_ body: (Installed) async throws -> Void) async throws {
    try await Installed.with { (installed) async throws in
      try await installed.addUser("u1")
      let files = try Files(["a.png": TinyPicture.png(), "b.png": TinyPicture.png(grey: 1)])
      let submitted = await installed.control("submit", "--user", "u1", "--type", "throat", files("a.png"))
      #expect(submitted.code == .done)
      for job in try await installed.claim() { try await installed.complete(job) }
      let more = await installed.control(
        "submit", "--user", "u1", "--type", "throat", "--key", "b", files("b.png"))
      #expect(more.code == .done)
      try await body(installed)
    }
  }

  @Test(
    "each kind in each form, for the running month",
    arguments: ["usage", "analyses", "conditions", "summary"])
  func kinds(kind: String) async throws {
    try await with { (installed) async throws in
      let table = await installed.control("report", kind)
      #expect(table.code == .done)
      #expect(table.output.contains("\(kind) of 20"))
      let csv = await installed.control("report", kind, "--month", "current", "--format", "csv")
      #expect(csv.code == .done)
      #expect(csv.output.contains("\r\n"))
      let excel = await installed.control("report", kind, "--format", "csv", "--excel")
      #expect(excel.output == "\u{FEFF}" + csv.output)
      let json = await installed.control("report", kind, "--json")
      #expect(json.code == .done)
      #expect(json.output.hasPrefix("{\"data\":["))
      let other = await installed.control("report", kind, "--month", "2020-01", "--format", "csv")
      #expect(other.code == .done)
    }
  }

  @Test("usage counts what is analysed and what is open")
  func usage() async throws {
    try await with { (installed) async throws in
      let csv = await installed.control("report", "usage", "--format", "csv")
      let rows = csv.output.split(separator: "\r\n").map {
        $0.split(separator: ",", omittingEmptySubsequences: false)
      }
      let row = Dictionary(uniqueKeysWithValues: zip(rows[0].map(String.init), rows[1].map(String.init)))
      #expect(row["user"] == "u1" && row["used"] == "2" && row["analysed"] == "1" && row["open"] == "1")
    }
  }

  @Test("to a file by its ending, with what it holds beside it; a zone that is none is code 64")
  func file() async throws {
    try await with { (installed) async throws in
      let files = try Files()
      let ran = await installed.control("report", "usage", "--out", files("usage.csv"))
      #expect(ran.code == .done)
      #expect(ran.output == "")
      #expect(ran.messages.contains("usage.csv written: 20"))
      #expect(try files.text("usage.csv").hasPrefix("user,month,"))
      #expect(try files.names() == ["usage.csv", "usage.csv.json"])
      #expect(await installed.control("report", "usage", "--out", files("u.json")).code == .done)
      #expect(try files.text("u.json").hasPrefix("{\"data\":["))
      #expect(await installed.control("report", "usage", "--zone", "Mars/Phobos").code == .usage)
      #expect(await installed.control("report", "usage", "--out", files("no/such/x.csv")).code == .usage)
      #expect(await installed.control("report", "usage", "--due", files("no")).code == .usage)
      let ending = await installed.control("report", "usage", "--out", files("x.xlsx"))
      #expect(ending.code == .usage && ending.messages.contains(".csv, .json or .txt"))
    }
  }

  @Test("a month that is over with open jobs in its grace is a draft, code 6")
  func openJobs() async throws {
    try await with { (installed) async throws in
      try await Self.moveBack(installed)
      try await installed.pool.execute(
        script: "UPDATE analysis.setting SET value = '100 years' WHERE name = 'statement_grace'")
      let month = try await installed.texts("SELECT analysis.period_text(period) FROM analysis.usage")[0]
      let ran = await installed.control("report", "usage", "--month", month)
      #expect(ran.code == .jobsStillOpen)
      #expect(ran.messages.contains("1 jobs of 20"))
    }
  }

  @Test("--due writes each closed month once: 0, then 5, then 0 again for a file that was changed")
  func due() async throws {
    try await with { (installed) async throws in
      try await Self.moveBack(installed)
      try await installed.pool.execute(
        script: "UPDATE analysis.setting SET value = '0 days' WHERE name = 'statement_grace'")
      let files = try Files()
      let first = await installed.control("report", "usage", "--due", files.path)
      #expect(first.code == .done)
      let names = try files.names()
      // The month of the use, and the one between that and the running one if it is over everywhere.
      #expect(names.count == 2 || names.count == 4)
      let name = try #require(names.first)
      #expect(name.hasPrefix("usage-20") && name.hasSuffix(".csv"))
      #expect(first.output.contains("written \(files(name)) (1 rows)"))
      let text = try files.text(name)

      let second = await installed.control("report", "usage", "--due", files.path)
      #expect(second.code == .nothingToDo)
      #expect(second.output == "" && second.messages == "")
      try files.write(name, "spoilt")
      #expect(await installed.control("report", "usage", "--due", files.path).code == .done)
      #expect(try files.text(name) == text)
      try files.remove(name)
      #expect(await installed.control("report", "usage", "--due", files.path).code == .done)
      #expect(try files.text(name) == text)
    }
  }

  @Test(
    "--due leaves a month whose grace is running, code 6, and has nothing to do before any is over, code 5")
  func dueInGrace() async throws {
    try await with { (installed) async throws in
      let files = try Files()
      #expect(await installed.control("report", "usage", "--due", files.path).code == .nothingToDo)
      try await Self.moveBack(installed)
      try await installed.pool.execute(
        script: "UPDATE analysis.setting SET value = '100 years' WHERE name = 'statement_grace'")
      let ran = await installed.control("report", "usage", "--due", files.path, "--json")
      #expect(ran.code == .jobsStillOpen)
      #expect(ran.output.contains(#""outcome":"left""#))
      #expect(try files.names() == [])
      #expect(await installed.control("report", "usage", "--due", files("missing")).code == .usage)
    }
  }

  @Test("reconcile: 0 where counters and jobs agree, 1 and a list where they do not")
  func reconcile() async throws {
    try await with { (installed) async throws in
      #expect(await installed.control("reconcile").code == .done)
      try await installed.pool.execute(script: "UPDATE analysis.usage SET used = used + 1")
      let ran = await installed.control("reconcile", "--month", "current")
      #expect(ran.code == .jobFailed)
      #expect(ran.lines.last?.hasPrefix("u1 ") == true)
      #expect(await installed.control("reconcile", "--month", "2020-01").code == .done)
    }
  }

  @Test("reconcile: a job that is in no table of the queue is named, and how to be rid of it; code 1")
  func lostJob() async throws {
    try await with { (installed) async throws in
      try await installed.addUser("lost")
      let files = try Files()
      try files.write("p.png", TinyPicture.png(grey: 9))
      #expect(await installed.control.run(["submit", "-u", "lost", "-t", "ear", files.path]).code == .done)
      let job = try await installed.texts("SELECT max(id)::text FROM analysis.job")[0]
      #expect(await installed.control("reconcile").code == .done)
      try await installed.pool.execute(script: "DELETE FROM analysis.ready WHERE job_id = \(job)")
      let ran = await installed.control("reconcile")
      #expect(ran.code == .jobFailed)
      #expect(ran.output.contains("1 job is in no table of the queue"))
      #expect(ran.lines.contains { $0.hasPrefix("\(job)  lost ") || $0.hasPrefix("  \(job)  lost ") })
      #expect(ran.lines.last?.hasSuffix("analysisctl jobs cancel \(job)") == true)
      let json = await installed.control("reconcile", "--json")
      #expect(json.code == .jobFailed)
      #expect(
        json.output.contains(#""agrees":false,"differences":[],"lost":1,"lost_jobs":[{"job":"\#(job)""#))
      #expect(await installed.control("reconcile", "--month", "previous").code == .done)
      #expect(await installed.control("jobs", "cancel", job).code == .done)
      #expect(await installed.control("reconcile").code == .done)
    }
  }

  @Test("status counts what waits in each lane")
  func status() async throws {
    try await with { (installed) async throws in
      let ran = await installed.control("status")
      #expect(ran.code == .done)
      #expect(ran.output.hasPrefix("waiting 1, running 0, scheduled 0, dead 0\n"))
      #expect(
        await installed.control("status", "--json").output.contains(#""waiting":{"value":1,"exact":true}"#))
    }
  }

  /// Makes what was used be of two months before the running one, which is over everywhere on earth at any time.
  private static func moveBack(_ installed: Installed) async throws {
    try await installed.pool.execute(
      script: """
        SELECT analysis.ensure_partitions((min(period) - 2)::smallint, (min(period) - 2)::smallint)
        FROM analysis.usage;
        UPDATE analysis.account SET created_at = created_at - interval '100 days';
        UPDATE analysis.usage SET period = period - 2;
        UPDATE analysis.job SET period = period - 2;
        UPDATE analysis.result SET period = period - 2;
        """)
  }
}
