import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("analysisctl report, reconcile and status, against a server")
struct ReportTests {
  /// A user with one analysed and one waiting job in the running month.
  private func with(_ body: (QueueFixture) async throws -> Void) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try TemporaryFolder(["a.png": TinyPicture.png(), "b.png": TinyPicture.png(grey: 1)])
      let submitted = await queue.control("submit", "--user", "u1", "--type", "throat", files.path("a.png"))
      #expect(submitted.code == .done)
      for job in try await queue.claimJobs() { try await queue.complete(job) }
      let more = await queue.control(
        "submit", "--user", "u1", "--type", "throat", "--key", "b", files.path("b.png"))
      #expect(more.code == .done)
      try await body(queue)
    }
  }

  @Test(
    "each kind in each form, for the running month",
    arguments: ["usage", "analyses", "conditions", "summary"])
  func kinds(kind: String) async throws {
    try await with { (queue) async throws in
      let table = await queue.control("report", kind)
      #expect(table.code == .done)
      #expect(table.output.contains("\(kind) of 20"))
      let csv = await queue.control("report", kind, "--month", "current", "--format", "csv")
      #expect(csv.code == .done)
      #expect(csv.output.contains("\r\n"))
      let excel = await queue.control("report", kind, "--format", "csv", "--excel")
      #expect(excel.output == "\u{FEFF}" + csv.output)
      let json = await queue.control("report", kind, "--json")
      #expect(json.code == .done)
      #expect(json.output.hasPrefix("{\"data\":["))
      let other = await queue.control("report", kind, "--month", "2020-01", "--format", "csv")
      #expect(other.code == .done)
    }
  }

  @Test("usage counts what is analysed and what is open")
  func usage() async throws {
    try await with { (queue) async throws in
      let csv = await queue.control("report", "usage", "--format", "csv")
      let rows = csv.output.split(separator: "\r\n").map {
        $0.split(separator: ",", omittingEmptySubsequences: false)
      }
      let row = Dictionary(uniqueKeysWithValues: zip(rows[0].map(String.init), rows[1].map(String.init)))
      #expect(row["user"] == "u1" && row["used"] == "2" && row["analysed"] == "1" && row["open"] == "1")
    }
  }

  @Test("a pipe has the bytes, with no file beside it")
  func pipe() async throws {
    try await with { (queue) async throws in
      let folder = try TemporaryFolder()
      let path = folder.path("pipe")
      try #require(mkfifo(path, 0o600) == 0)
      let reader = open(path, O_RDONLY | O_NONBLOCK)
      defer { close(reader) }
      let ran = await queue.control("report", "usage", "--format", "csv", "--out", path)
      #expect(ran.code == .done, "\(ran.messages)")
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = read(reader, &bytes, bytes.count)
      #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).hasPrefix("user,"))
      #expect(try folder.names == ["pipe"])
    }
  }

  @Test("what cannot be written is refused before anything is asked")
  func unwritable() async throws {
    let folder = try TemporaryFolder()
    try folder.write("photo", to: "photo.jpg")
    let control = Control(database: "host=\(folder.path) dbname=none")
    for arguments in [
      ["report", "usage", "--format", "csv"], ["statement", "--clinic", "north"],
      ["submit", "-u", "u1", "-t", "ear", "--wait", "--results", folder.path("photo.jpg")],
    ] {
      let place = folder.path(arguments[0] == "statement" ? "none/x.pdf" : "none/x.csv")
      let ran = await control.run(arguments + ["--out", place])
      #expect(
        ran.messages.contains("\(place)") && ran.code != .unreachable, "\(ran.code.code): \(ran.messages)")
    }
    #expect(try folder.names == ["photo.jpg"])
  }

  @Test("usage of a clinic, of a user, added up, or of all users; who is not there is code 4")
  func scopes() async throws {
    try await with { (queue) async throws in
      try await queue.addUser("idle")
      try await queue.execute(
        "SELECT analysis.add_clinic('north'), analysis.assign_clinic(0::smallint, 'idle', 'north')")
      func lines(_ arguments: String...) async throws -> [String] {
        let ran = await queue.control.run(["report", "usage"] + arguments)
        #expect(ran.code == .done, "\(ran.messages)")
        return ran.output.split(separator: "\n").dropFirst().compactMap {
          $0.split(separator: " ").first.map(String.init)
        }.filter { !$0.hasPrefix("-") && $0 != "usage" }
      }
      #expect(try await lines() == ["u1", "Total"])
      #expect(try await lines("--all-users") == ["idle", "u1", "Total"])
      #expect(try await lines("--clinic", "north") == [])
      #expect(try await lines("--user", "idle") == ["idle", "Total"])
      #expect(try await lines("--by", "type") == ["throat", "Total"])
      #expect(try await lines("--by", "clinic") == ["without", "Total"])
      #expect(try await lines("--by", "plan", "--user", "idle") == [])
      let csv = await queue.control("report", "usage", "--by", "type", "--format", "csv")
      #expect(csv.output.hasSuffix("\r\nthroat,1,2,1,1,0,0,1\r\n"), "\(csv.output)")
      for (option, name) in [("--clinic", "south"), ("--user", "nobody")] {
        for by in [[], ["--by", "day"]] {
          let ran = await queue.control.run(["report", "usage", option, name] + by)
          #expect(ran.code == .refused && ran.messages.contains("this login does not see"), "\(ran.messages)")
        }
      }
    }
  }

  @Test("to a file by its ending, with what it holds beside it; a zone that is none is code 64")
  func file() async throws {
    try await with { (queue) async throws in
      let files = try TemporaryFolder()
      let ran = await queue.control("report", "usage", "--out", files.path("usage.csv"))
      #expect(ran.code == .done)
      #expect(ran.output == "")
      #expect(ran.messages.contains("usage.csv written: 20"))
      #expect(try files.text("usage.csv").hasPrefix("user,month,"))
      #expect(try files.names == ["usage.csv", "usage.csv.json"])
      #expect(await queue.control("report", "usage", "--out", files.path("u.json")).code == .done)
      #expect(try files.text("u.json").hasPrefix("{\"data\":["))
      #expect(await queue.control("report", "usage", "--zone", "Mars/Phobos").code == .usage)
      #expect(await queue.control("report", "usage", "--out", files.path("no/such/x.csv")).code == .usage)
      #expect(await queue.control("report", "usage", "--due", files.path("no")).code == .usage)
      let ending = await queue.control("report", "usage", "--out", files.path("x.xlsx"))
      #expect(ending.code == .usage && ending.messages.contains(".csv, .json or .txt"))
    }
  }

  @Test("a month that is over with open jobs in its grace is a draft, code 6")
  func openJobs() async throws {
    try await with { (queue) async throws in
      try await Self.moveBack(queue)
      try await queue.pool.execute(
        script: "UPDATE analysis.setting SET value = '100 years' WHERE name = 'statement_grace'")
      let month = try await queue.texts("SELECT analysis.period_text(period) FROM analysis.usage")[0]
      let ran = await queue.control("report", "usage", "--month", month)
      #expect(ran.code == .jobsStillOpen)
      #expect(ran.messages.contains("1 job of 20"))
    }
  }

  @Test("a month that could be closed is a draft that says so, each time, and nothing is stated")
  func draft() async throws {
    try await with { (queue) async throws in
      try await Self.moveBack(queue)
      let month = try await queue.texts("SELECT analysis.period_text(period) FROM analysis.usage")[0]
      let first = await queue.control("report", "usage", "--month", month, "--format", "csv")
      #expect(first.code == .jobsStillOpen)
      let told = "\(month) is not closed; this is a draft. Close it with analysisctl month close \(month).\n"
      #expect(first.messages.contains(told), "\(first.messages)")
      let second = await queue.control("report", "usage", "--month", month, "--format", "csv")
      #expect(second.output == first.output && second.messages == first.messages)
      let json = await queue.control("report", "usage", "--month", month, "--json")
      #expect(json.output.contains(#""state":"draft""#))
      #expect(
        await queue.control("report", "summary", "--month", month).messages.contains("Close it") == false)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.statement") == 0)
    }
  }

  @Test("--due closes nothing, names what could be closed, and writes it when it is")
  func unclosed() async throws {
    try await with { (queue) async throws in
      try await Self.moveBack(queue)
      let files = try TemporaryFolder()
      let month = try await queue.texts("SELECT analysis.period_text(period) FROM analysis.usage")[0]
      let named = "\(month) is not closed: close it with analysisctl month close \(month)\n"
      for _ in 1...2 {
        let ran = await queue.control("report", "usage", "--due", files.path)
        #expect(ran.code == .jobsStillOpen && ran.output.contains(named), "\(ran.output)")
      }
      let json = await queue.control("report", "usage", "--due", files.path, "--json")
      #expect(json.output.contains(#"{"month":"\#(month)","outcome":"unclosed"}"#))
      #expect(try files.names == [])
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.statement") == 0)
      #expect(await queue.control("month", "close", month, "--yes").code == .done)
      let ran = await queue.control("report", "usage", "--due", files.path)
      #expect(ran.code == .done && !ran.output.contains(named))
      #expect(try files.names == ["usage-\(month).csv", "usage-\(month).csv.json"])
    }
  }

  @Test("--due writes each closed month once: 0, then 5, then 0 again for a file that was changed")
  func due() async throws {
    try await with { (queue) async throws in
      try await Self.moveBack(queue)
      try await queue.pool.execute(
        script: "UPDATE analysis.setting SET value = '0 days' WHERE name = 'statement_grace'")
      #expect(await queue.control("month", "close", "--due", "--yes").code == .done)
      let files = try TemporaryFolder()
      let first = await queue.control("report", "usage", "--due", files.path)
      #expect(first.code == .done)
      let names = try files.names
      // The month of the use, and the one between that and the running one if it is over everywhere.
      #expect(names.count == 2 || names.count == 4)
      let name = try #require(names.first)
      #expect(name.hasPrefix("usage-20") && name.hasSuffix(".csv"))
      #expect(first.output.contains("written \(files.path(name)) (1 row)"))
      let text = try files.text(name)

      let second = await queue.control("report", "usage", "--due", files.path)
      #expect(second.code == .nothingToDo)
      #expect(second.output == "" && second.messages == "")
      try files.write("spoilt", to: name)
      #expect(await queue.control("report", "usage", "--due", files.path).code == .done)
      #expect(try files.text(name) == text)
      try files.remove(name)
      #expect(await queue.control("report", "usage", "--due", files.path).code == .done)
      #expect(try files.text(name) == text)
    }
  }

  @Test(
    "--due leaves a month whose grace is running, code 6, and has nothing to do before any is over, code 5")
  func dueInGrace() async throws {
    try await with { (queue) async throws in
      let files = try TemporaryFolder()
      #expect(await queue.control("report", "usage", "--due", files.path).code == .nothingToDo)
      try await Self.moveBack(queue)
      try await queue.pool.execute(
        script: "UPDATE analysis.setting SET value = '100 years' WHERE name = 'statement_grace'")
      let ran = await queue.control("report", "usage", "--due", files.path, "--json")
      #expect(ran.code == .jobsStillOpen)
      #expect(ran.output.contains(#""outcome":"left""#))
      #expect(try files.names == [])
      #expect(await queue.control("report", "usage", "--due", files.path("missing")).code == .usage)
    }
  }

  @Test("reconcile: 0 where counters and jobs agree, 1 and a list where they do not")
  func reconcile() async throws {
    try await with { (queue) async throws in
      #expect(await queue.control("reconcile").code == .done)
      try await queue.pool.execute(script: "UPDATE analysis.usage SET used = used + 1")
      let ran = await queue.control("reconcile", "--month", "current")
      #expect(ran.code == .jobFailed)
      #expect(ran.lines.last?.hasPrefix("u1 ") == true)
      #expect(await queue.control("reconcile", "--month", "2020-01").code == .done)
    }
  }

  @Test("reconcile: a job that is in no table of the queue is named, and how to be rid of it; code 1")
  func lostJob() async throws {
    try await with { (queue) async throws in
      try await queue.addUser("lost")
      let files = try TemporaryFolder()
      try files.write(TinyPicture.png(grey: 9), to: "p.png")
      #expect(await queue.control.run(["submit", "-u", "lost", "-t", "ear", files.path]).code == .done)
      let job = try await queue.texts("SELECT max(id)::text FROM analysis.job")[0]
      #expect(await queue.control("reconcile").code == .done)
      try await queue.pool.execute(script: "DELETE FROM analysis.ready WHERE job_id = \(job)")
      let ran = await queue.control("reconcile")
      #expect(ran.code == .jobFailed)
      #expect(ran.output.contains("1 job is in no table of the queue"))
      #expect(ran.lines.contains { $0.hasPrefix("\(job)  lost ") || $0.hasPrefix("  \(job)  lost ") })
      #expect(ran.lines.last?.hasSuffix("analysisctl jobs cancel \(job)") == true)
      let json = await queue.control("reconcile", "--json")
      #expect(json.code == .jobFailed)
      #expect(
        json.output.contains(#""agrees":false,"differences":[],"lost":1,"lost_jobs":[{"job":"\#(job)""#))
      #expect(await queue.control("reconcile", "--month", "previous").code == .done)
      #expect(await queue.control("jobs", "cancel", job).code == .done)
      #expect(await queue.control("reconcile").code == .done)
    }
  }

  @Test("status counts what waits in each lane")
  func status() async throws {
    try await with { (queue) async throws in
      let ran = await queue.control("status")
      #expect(ran.code == .done)
      #expect(ran.output.hasPrefix("waiting 1, running 0, scheduled 0, dead 0\nno worker\n"))
      #expect(
        await queue.control("status", "--json").output.contains(#""waiting":{"value":1,"exact":true}"#))
    }
  }

  /// Makes what was used be of two months before the running one, which is over everywhere on earth at any time.
  private static func moveBack(_ queue: QueueFixture) async throws {
    try await queue.pool.execute(
      script: """
        SELECT analysis.ensure_partitions((min(period) - 2)::smallint, (min(period) - 2)::smallint)
        FROM analysis.usage;
        UPDATE analysis.account SET created_at = created_at - interval '100 days';
        UPDATE analysis.usage SET period = period - 2;
        UPDATE analysis.job SET period = period - 2;
        UPDATE analysis.result SET period = period - 2;
        UPDATE analysis.ready SET period = period - 2;
        """)
  }
}
