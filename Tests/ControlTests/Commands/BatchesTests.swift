import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue
@testable import Support

@Suite("analysisctl batches, against a server")
struct BatchesTests {
  private func pictures(_ count: Int) throws -> TemporaryFolder {
    let files = try TemporaryFolder()
    for index in 1...count { try files.write(TinyPicture.png(grey: UInt8(index * 10)), to: "p\(index).png") }
    return files
  }

  /// A queue with a batch of so many photos of `u1`.
  private func withBatch(
    of count: Int, _ body: (_ queue: QueueFixture, _ batch: String) async throws -> Void
  ) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try pictures(count)
      try files.write("no picture", to: "bad.jpg")
      let ran = await queue.control(
        "submit", "--user", "u1", "--type", "throat", "--name", "ward 3", files.path)
      #expect(ran.code == .refused)
      let batch = try #require(ran.lines.first?.split(separator: " ").first.map(String.init))
      #expect(ran.lines == ["\(batch) ward 3: \(count == 1 ? "1 job" : "\(count) jobs")"])
      try await body(queue, batch)
    }
  }

  @Test("a run is a batch: listed and shown with what was done, failed and refused, and why it failed")
  func shown() async throws {
    try await withBatch(of: 3) { (queue, batch) async throws in
      let claimed = try await queue.claimJobs(count: 2)
      try await queue.complete(claimed[0])
      try await queue.kill(claimed[1])
      let list = await queue.control("batches", "list")
      #expect(list.code == .done)
      let words = try #require(list.lines.last).split(separator: " ").map(String.init)
      #expect(Array(words.prefix(3)) == [batch, "ward", "3"])
      // Total, done, failed, cancelled, refused.
      #expect(Array(words[5..<10]) == ["3", "1", "1", "0", "1"])

      let show = await queue.control("batches", "show", batch)
      #expect(show.code == .done)
      for fact in ["name        ward 3", "total       3", "done        1", "failed      1", "refused     1"] {
        #expect(show.output.contains(fact), "\(show.output)")
      }
      #expect(show.output.contains("INVALID_IMAGE_FORMAT"))
      #expect(show.output.contains(claimed[1].id.description))
      let json = await queue.control("batches", "show", String(batch.dropFirst()), "--json")
      #expect(json.output.contains(#""total":3,"done":1,"failed":1,"cancelled":0,"refused":1,"open":1"#))
      #expect(json.output.contains(#""class":"permanent","code":"INVALID_IMAGE_FORMAT","jobs":1"#))

      let jobs = await queue.control("jobs", "list", "--batch", batch, "--state", "dead")
      #expect(jobs.lines.count == 2 && jobs.output.contains(claimed[1].id.description))
    }
  }

  @Test("a login of clinics sees where the search stopped among batches of others, code 7")
  func cutShort() async throws {
    try await withBatch(of: 1) { (queue, batch) async throws in
      // Others' batches, newer than that of the clinic: one more than a list looks at.
      try await queue.execute(
        """
        SELECT analysis.add_clinic('north'), analysis.assign_clinic(0::smallint, 'u1', 'north');
        INSERT INTO analysis.batch (created_at, submitter) SELECT now(), 1 FROM generate_series(1, 201)
        """)
      try await withLoginRole(on: queue.pool, named: "ward", in: ["analysis_operator"]) {
        (login) async throws in
        try await queue.execute("SELECT analysis.grant_clinics('\(login)', '{north}')")
        let control = Control(database: "\(queue.database.conninfo) user=\(login)")
        let first = await control.run(["batches", "list"])
        #expect(first.code == .cutShort && first.output == "No batches so far.\n", "\(first.messages)")
        let place = try #require(first.messages.split(separator: " ").last.map { String($0.dropLast()) })
        #expect(
          first.messages.hasSuffix("The search stopped here, and there may be more: --before \(place)\n"))
        let json = await control.run(["batches", "list", "--json"])
        #expect(json.code == .cutShort)
        #expect(json.output == #"{"batches":[],"next":"\#(place)","cut_short":true}"# + "\n")
        let rest = await control.run(["batches", "list", "--before", place])
        #expect(rest.code == .done && rest.lines.count == 2 && rest.lines[1].hasPrefix(batch))
        #expect(rest.messages == "")
      }
      let all = await queue.control("batches", "list", "--limit", "2")
      #expect(all.code == .done && all.messages.hasPrefix("There are more: --before B"))
    }
  }

  @Test("waiting ends with the last job, with 1 where one failed; with the time over it is 75")
  func waits() async throws {
    try await withBatch(of: 2) { (queue, batch) async throws in
      #expect(await queue.control("batches", "wait", batch, "--timeout", "0s").code == .tryLater)
      #expect(
        await queue.control("batches", "watch", batch, "--timeout", "0s").output
          .hasPrefix("\(batch): 0 of 2 done, 1 refused, 2 left, no worker\n"))
      let claimed = try await queue.claimJobs(count: 2)
      async let waited = queue.control("batches", "wait", batch)
      async let watched = queue.control("batches", "watch", batch, "--json")
      try await queue.complete(claimed[0])
      try await queue.kill(claimed[1])
      #expect(await waited.code == .jobFailed)
      let lines = await watched
      #expect(lines.code == .jobFailed)
      #expect(lines.lines.last?.contains(#""done":1,"failed":1"#) == true)
      #expect(
        await queue.control("batches", "watch", batch).output.hasPrefix(
          "\(batch): 1 of 2 done, 1 failed, 1 refused\n"))
    }
  }

  @Test("what is open is cancelled and what is dead is queued again, with the count first, and asked for")
  func changed() async throws {
    try await withBatch(of: 3) { (queue, batch) async throws in
      let claimed = try await queue.claimJobs(count: 2)
      try await queue.complete(claimed[0])
      try await queue.kill(claimed[1])
      #expect(await queue.control("batches", "retry", batch).code == .usage)
      #expect(
        await queue.control("batches", "retry", batch, "--dry-run").output
          == "\(batch): 1 would be queued again.\n")
      let retried = await queue.control("batches", "retry", batch, "--yes")
      #expect(retried.code == .done && retried.output == "\(batch): 1 queued again.\n")

      var control = queue.control
      control.typed = "n"
      let refused = await control("batches", "cancel", batch)
      #expect(
        refused.code == .refused && refused.messages.contains("2 jobs of \(batch) (ward 3) are cancelled"))
      control.typed = "yes"
      #expect(
        await control("batches", "cancel", batch, "--reason", "duplicate").output
          == "\(batch): 2 cancelled.\n")
      #expect(await control("batches", "cancel", batch).code == .nothingToDo)
      let words = try #require(await control("batches", "list").lines.last).split(separator: " ")
      #expect(words[5..<10] == ["3", "1", "0", "2", "1"], "\(words)")
      #expect(try await queue.number("SELECT count(*) FROM analysis.result WHERE outcome = 2") == 2)
      #expect(
        try await queue.number("SELECT count(*) FROM analysis.audit_entry WHERE action = 'cancel'") >= 1)
    }
  }

  @Test(
    "each login sees what is its own: a back-end its batches, an operator all, one of a clinic those of its users"
  )
  func logins() async throws {
    try await withBatch(of: 1) { (queue, batch) async throws in
      let files = try pictures(1)
      try await queue.addUser("u2")
      try await withLoginRole(on: queue.pool, in: ["analysis_submitter"]) { (login) async throws in
        let own = queue.acting(as: login).control
        let ran = await own(
          "submit", "--user", "u2", "--type", "ear", "--name", "its own", files.path("p1.png"))
        #expect(ran.code == .done, "\(ran.messages)")
        let list = await own("batches", "list", "--json")
        #expect(list.output.contains("its own") && !list.output.contains("ward 3"))
        #expect(await own("batches", "show", batch).code == .refused)
        #expect(await own("batches", "cancel", batch, "--yes").code == .refused)
        let name = try #require(ran.lines.last?.split(separator: " ").first.map(String.init))
        #expect(await own("batches", "cancel", name, "--yes").output == "\(name): 1 cancelled.\n")
        #expect(await own("batches", "retry", name, "--yes").code == .permission)
      }
      try await withLoginRole(on: queue.pool, in: ["analysis_operator"]) { (login) async throws in
        let all = await queue.acting(as: login).control("batches", "list", "--json")
        #expect(all.output.contains("its own") && all.output.contains("ward 3"))
        #expect(await queue.control("clinics", "add", "north").code == .done)
        #expect(await queue.control("clinics", "assign", "u2", "north").code == .done)
        #expect(await queue.control("clinics", "grant", login, "north").code == .done)
        let some = await queue.acting(as: login).control("batches", "list", "--json")
        #expect(some.output.contains("its own") && !some.output.contains("ward 3"))
      }
    }
  }

  @Test("a reference is stored with the job, shown, and found")
  func reference() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let files = try pictures(3)
      try files.write("file;reference\np1.png;visit-1\np2.png;visit-2\np3.png;\n", to: "list.csv")
      let ran = await queue.control(
        "submit", "--user", "u1", "--type", "ear", "--manifest", files.path("list.csv"), "--reference",
        "visit-2",
        "--verbose")
      #expect(ran.code == .done && ran.messages == "3 submitted.\n", "\(ran.messages)")
      let jobs = ran.lines.prefix(3).map { $0.split(separator: " ")[1] }
      let found = await queue.control("jobs", "list", "--reference", "visit-2")
      let numbers = found.lines.dropFirst().compactMap { $0.split(separator: " ").first }
      #expect(numbers == [jobs[2], jobs[1]])
      let show = await queue.control("jobs", "show", String(jobs[0]))
      #expect(show.output.contains("reference  visit-1"))
      #expect(show.output.contains("batch      B"))
      let long = await queue.control(
        "submit", "--user", "u1", "--type", "ear", "--reference", String(repeating: "x", count: 201),
        files.path)
      #expect(long.code == .usage)
    }
  }
}
