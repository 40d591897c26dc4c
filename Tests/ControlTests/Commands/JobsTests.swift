import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

@Suite("analysisctl jobs, against a server")
struct JobsTests {
  /// A user with four jobs: one analysed, one dead, two waiting.
  private func with(_ body: (QueueFixture, _ jobs: [String]) async throws -> Void) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1", plan: "free")
      let files = try TemporaryFolder()
      for index in 1...2 { try files.write(TinyPicture.png(grey: UInt8(index)), to: "p\(index).png") }
      let submit = ["submit", "--user", "u1", "--type", "throat", files.path]
      #expect(await queue.control.run(submit).code == .done)
      let claimed = try await queue.claimJobs()
      try await queue.complete(claimed[0])
      try await queue.kill(claimed[1])
      #expect(await queue.control.run(submit + ["--key", "more", "--again"]).code == .done)
      try await body(queue, try await queue.texts("SELECT id::text FROM analysis.job ORDER BY id"))
    }
  }

  @Test("list: the latest first, by filter, a page at a time")
  func list() async throws {
    try await with { (queue, jobs) async throws in
      let all = await queue.control("jobs", "list")
      #expect(all.code == .done)
      #expect(
        all.lines.dropFirst().compactMap { $0.split(separator: " ").first.map(String.init) }
          == jobs.reversed())
      let dead = await queue.control(
        "jobs", "list", "--state", "dead", "--user", "u1", "--type", "throat")
      #expect(dead.lines.count == 2 && dead.lines[1].contains(" dead "))
      let ears = await queue.control("jobs", "list", "--type", "ear")
      #expect(ears.output == "No jobs.\n")
      let others = await queue.control("jobs", "list", "--month", "previous")
      #expect(others.output == "No jobs.\n")

      let first = await queue.control("jobs", "list", "--limit", "3", "--month", "current")
      #expect(first.lines.count == 4)
      let place = try #require(first.messages.split(separator: " ").last.map { String($0.dropLast()) })
      let rest = await queue.control("jobs", "list", "--limit", "3", "--after", place)
      #expect(rest.lines.count == 2)
      #expect(rest.lines[1].contains(" \(jobs[0]) ") || rest.lines[1].hasPrefix(jobs[0]))
      #expect(rest.messages == "")
    }
  }

  @Test("list: a search that comes to nothing among many says where it goes on, code 7")
  func listCutShort() async throws {
    try await with { (queue, jobs) async throws in
      try await queue.pool.execute(
        script: """
          INSERT INTO analysis.job (shard, period, kind, lane, id, user_id, image_id, vt, created_at, image_bytes, image_period,
            max_attempts, image_unsanitized, image_mark)
          SELECT j.shard, j.period, j.kind, j.lane, 1000000 + g, j.user_id, j.image_id, j.vt, j.created_at, j.image_bytes,
            j.image_period, j.max_attempts, j.image_unsanitized, j.image_mark
          FROM (SELECT * FROM analysis.job LIMIT 1) j, generate_series(1, 3000) g
          """)
      let first = await queue.control("jobs", "list", "--type", "ear")
      #expect(first.code == .cutShort)
      #expect(first.output == "No jobs so far.\n")
      let place = try #require(
        first.messages.split(separator: " ").last.map { String($0.dropLast()) })
      #expect(first.messages.hasSuffix("The search stopped here, and there may be more: --after \(place)\n"))
      let json = await queue.control("jobs", "list", "--type", "ear", "--json")
      #expect(json.code == .cutShort)
      #expect(json.output == #"{"jobs":[],"next":"\#(place)","cut_short":true}"# + "\n")
      let rest = await queue.control("jobs", "list", "--type", "ear", "--after", place)
      #expect(rest.code == .done)
      #expect(rest.output == "No jobs.\n")
      // What is changed by filter is looked for to the end.
      #expect(await queue.control("jobs", "cancel", "--type", "ear").code == .nothingToDo)
    }
  }

  @Test(
    "list: what waits is found behind thousands of jobs that were scheduled, or failed once and are to be tried again",
    arguments: [false, true])
  func listWaiting(isCounted: Bool) async throws {
    try await with { (queue, jobs) async throws in
      // More wait than are read at once, and the latest of all are scheduled.
      try await queue.pool.execute(
        script: """
          INSERT INTO analysis.job (shard, period, kind, lane, id, user_id, image_id, vt, created_at, image_bytes, image_period,
            max_attempts, image_unsanitized, image_mark)
          SELECT j.shard, j.period, j.kind, j.lane, 1000000 + g, j.user_id, j.image_id, j.vt, j.created_at, j.image_bytes,
            j.image_period, j.max_attempts, j.image_unsanitized, j.image_mark
          FROM (SELECT * FROM analysis.job LIMIT 1) j, generate_series(1, 9100) g;
          UPDATE analysis.job SET vt = -1 WHERE id > 1007000;
          INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
          SELECT j.shard, j.lane, 0, j.period, j.vt, j.id FROM analysis.job j WHERE j.id BETWEEN 1000001 AND 1005100;
          INSERT INTO analysis.scheduled (shard, lane, tries, period, run_at, job_id, user_id)
          SELECT j.shard, j.lane, 0, j.period, now() + interval '1 day', j.id, j.user_id FROM analysis.job j
          WHERE j.id > 1005100
          """)
      if isCounted {
        _ = try await queue.pool.query("SELECT analysis.refresh_counts('{0}')")
      }
      let list = await queue.control("jobs", "list", "--state", "waiting", "--limit", "3")
      #expect(list.code == .done, "\(list.messages)")
      #expect(list.lines.count == 4)
      for (line, job) in zip(list.lines.dropFirst(), [1_005_100, 1_005_099, 1_005_098]) {
        #expect(line.contains("\(job)"))
      }
    }
  }

  @Test("show: with attempts and result; an unknown job is code 4")
  func show() async throws {
    try await with { (queue, jobs) async throws in
      let analysed = await queue.control("jobs", "show", jobs[0])
      #expect(analysed.code == .done)
      #expect(analysed.output.contains("Tonsillitis         79%  orange"))
      let dead = await queue.control("jobs", "show", jobs[1], "--json")
      #expect(dead.output.contains(#""class":"permanent","code":"INVALID_IMAGE_FORMAT""#))
      let unknown = await queue.control("jobs", "show", "99999")
      #expect(unknown.code == .refused)
      #expect(unknown.messages.contains("there is no job 99999"))
      #expect(unknown.output == "")
    }
  }

  @Test("cancel: by number, and what has ended stays, code 4")
  func cancel() async throws {
    try await with { (queue, jobs) async throws in
      let ran = await queue.control("jobs", "cancel", jobs[3], jobs[0], "99999")
      #expect(ran.code == .refused)
      #expect(
        ran.lines == [
          "\(jobs[0]) unchanged: it was analysed before", "\(jobs[3]) cancelled",
          "99999 unchanged: there is no such job",
        ])
      #expect(
        try await queue.texts("SELECT state FROM analysis.job_status ORDER BY job_id")
          == ["succeeded", "dead", "waiting", "cancelled"])
    }
  }

  @Test("cancel: by filter, first dry and then in earnest; nothing left is code 5")
  func cancelMatching() async throws {
    try await with { (queue, jobs) async throws in
      let dry = await queue.control("jobs", "cancel", "--user", "u1", "--dry-run")
      #expect(dry.code == .done)
      #expect(
        dry.lines == ["\(jobs[2]) waiting: would be cancelled", "\(jobs[3]) waiting: would be cancelled"])
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.ready") == 2)
      let one = await queue.control("jobs", "cancel", "--user", "u1", "--limit", "1")
      #expect(one.lines.count == 1)
      #expect(await queue.control("jobs", "cancel", "--user", "u1").code == .done)
      #expect(await queue.control("jobs", "cancel", "--user", "u1").code == .nothingToDo)
      #expect(await queue.control("reconcile").code == .done)
    }
  }

  @Test("retry: a dead job waits again; one that is not dead is code 4")
  func retry() async throws {
    try await with { (queue, jobs) async throws in
      let dry = await queue.control("jobs", "retry", "--state", "dead", "--dry-run", "--json")
      #expect(dry.output == #"{"jobs":[{"job":"\#(jobs[1])","outcome":"dry_run","state":"dead"}]}"# + "\n")
      let ran = await queue.control("jobs", "retry", "--month", "current")
      #expect(ran.code == .done)
      #expect(ran.output.hasPrefix("\(jobs[1]) queued again, counts in "))
      let again = await queue.control("jobs", "retry", jobs[1])
      #expect(again.code == .refused)
      #expect(await queue.control("reconcile").code == .done)
    }
  }

  @Test("a month is meant by every login that looks at jobs, and by an operator who queues them again")
  func monthByLogin() async throws {
    try await with { (queue, jobs) async throws in
      for role in ["analysis_clinician", "analysis_operator"] {
        try await withLoginRole(on: queue.pool, in: [role]) { (login) async throws in
          let own = queue.acting(as: login).control
          let listed = await own("jobs", "list", "--month", "current")
          #expect(listed.code == .done && listed.lines.count == 5, "\(role): \(listed.messages)")
        }
      }
      try await withLoginRole(on: queue.pool, in: ["analysis_operator"]) { (login) async throws in
        let retry = ["jobs", "retry", "--state", "dead", "--month", "current"]
        let own = queue.acting(as: login).control
        let dry = await own.run(retry + ["--dry-run"])
        #expect(dry.code == .done && dry.output.contains(jobs[1]), "\(dry.messages)")
        let ran = await own.run(retry)
        #expect(ran.output.hasPrefix("\(jobs[1]) queued again"), "\(ran.messages)")
        #expect(await own("reconcile", "--month", "current").code == .done)
      }
    }
  }

  @Test("retry: where the limit has no unit left the job stays dead, code 3")
  func retryOverLimit() async throws {
    try await with { (queue, jobs) async throws in
      #expect(await queue.control("plans", "set-limit", "free", "3").code == .done)
      let ran = await queue.control("jobs", "retry", jobs[1])
      #expect(ran.code == .quotaRefused)
      #expect(ran.output.contains("not queued: the user's limit of this month is reached"))
    }
  }

  @Test(
    "uncancel: a cancelled job waits again; what is not cancelled is code 4, and the filter finds what can be undone"
  )
  func uncancel() async throws {
    try await with { (queue, jobs) async throws in
      #expect(await queue.control("jobs", "cancel", jobs[2], jobs[3]).code == .done)
      let ran = await queue.control("jobs", "uncancel", jobs[2], jobs[0], "--reason", "mistake")
      #expect(ran.code == .refused)
      #expect(ran.lines[0] == "\(jobs[0]) unchanged: it is not cancelled")
      #expect(ran.lines[1].hasPrefix("\(jobs[2]) queued again, counts in "))
      let dry = await queue.control("jobs", "uncancel", "--user", "u1", "--dry-run")
      #expect(dry.lines == ["\(jobs[3]) cancelled: would be queued again"])
      try await queue.execute("UPDATE analysis.result SET finished_at = finished_at - interval '25 hours'")
      #expect(await queue.control("jobs", "uncancel", "--user", "u1").code == .nothingToDo)
      let late = await queue.control("jobs", "uncancel", jobs[3])
      #expect(late.output == "\(jobs[3]) unchanged: it was cancelled more than a day ago\n")
      #expect(await queue.control("reconcile").code == .done)
    }
  }

  @Test("uncancel: of a job that a worker still has in hand it says so, and the code is 75")
  func uncancelHeld() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let job = try await queue.create([Ask("u1")])[0]
      _ = try await queue.claim()
      #expect(await queue.control("jobs", "cancel", "\(job)").code == .done)
      let ran = await queue.control("jobs", "uncancel", "\(job)")
      #expect(ran.code == .tryLater)
      #expect(ran.output.hasPrefix("\(job) unchanged: a worker still has it in hand, or "), "\(ran.output)")
    }
  }

  /// A user with so many waiting jobs.
  private func withMany(_ count: Int, _ body: (QueueFixture) async throws -> Void) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1", plan: "premium")
      _ = try await queue.create(Ask("u1") * count)
      try await body(queue)
    }
  }

  @Test(
    "More than ten jobs are asked for with their number, and summed up; without a terminal nothing is done")
  func many() async throws {
    try await withMany(11) { (queue) async throws in
      let alone = await queue.control("jobs", "cancel", "--user", "u1")
      #expect(alone.code == .usage && !alone.messages.contains("[y/N]"), "\(alone.messages)")
      #expect(alone.messages.contains("Give --yes"))
      var control = queue.control
      control.typed = "n"
      let refused = await control("jobs", "cancel", "--user", "u1")
      #expect(refused.code == .refused && refused.messages.contains("11 jobs are to be cancelled"))
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.ready") == 11)
      control.typed = "y"
      let ran = await control("jobs", "cancel", "--user", "u1")
      #expect(ran.code == .done && ran.lines.count == 1)
      #expect(ran.output.hasPrefix("11 jobs: cancelled (") && ran.output.hasSuffix(" and others)\n"))
      let undone = await queue.control("jobs", "uncancel", "--user", "u1", "--yes", "--json")
      #expect(undone.code == .done && undone.messages == "")
      #expect(undone.output.matches(of: #/"outcome":"requeued"/#).count == 11)
      let dry = await queue.control("jobs", "cancel", "--user", "u1", "--dry-run")
      #expect(dry.lines.count == 1 && dry.output.hasPrefix("11 jobs: waiting: would be cancelled ("))
    }
  }

  @Test("Ten are not asked for")
  func few() async throws {
    try await withMany(10) { (queue) async throws in
      let ran = await queue.control("jobs", "cancel", "--user", "u1")
      #expect(ran.code == .done && ran.lines.count == 10 && ran.messages == "")
    }
  }
}
