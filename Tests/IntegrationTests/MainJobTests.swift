import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("The main job, by the real executables")
struct MainJobTests {
  @Test("A folder is submitted, analysed and reported, and the report agrees with the database")
  func wholeJob() async throws {
    try await withQueue { queue in
      try await RunningEndpoint.with { endpoint in
        let environment = queue.environment
        let add = try Executable(
          "analysisctl", ["users", "add", "clinic-1", "--plan", "premium"], environment: environment)
        #expect(await add.ended().code == 0)
        // Six pictures and the bad files: the bad ones are refused by name, the others are taken.
        let pictures = try await drawnPictures.folder().path
        let submit = try Executable(
          "analysisctl", ["submit", "--user", "clinic-1", "--type", "ear", "--json", pictures],
          environment: environment)
        let submitted = await submit.ended()
        #expect(submitted.code == 4, "\(submitted.messages)")
        #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 6)

        let worker = try Executable(
          "analysis-worker", ["--drain", "--endpoint", endpoint.url, "--drain-horizon", "10s"],
          environment: environment)
        let worked = await worker.ended()
        #expect(worked.code == 0, "\(worked.messages)")
        #expect(
          try await queue.number("SELECT count(*)::int FROM analysis.result WHERE outcome = 1") == 6)
        #expect(try endpoint.calls.count == 6)

        let folder = try TemporaryFolder()
        let report = try Executable(
          "analysisctl", ["report", "usage", "--format", "csv", "--out", folder.path("usage.csv")],
          environment: environment)
        let reported = await report.ended()
        #expect(reported.code == 0, "\(reported.messages)")
        let lines = try String(decoding: folder.bytes("usage.csv"), as: UTF8.self).components(
          separatedBy: "\r\n")
        let header = try #require(lines.first).split(separator: ",").map(String.init)
        let row = try #require(lines.dropFirst().first).split(
          separator: ",", omittingEmptySubsequences: false)
        let used = try #require(header.firstIndex(of: "used"))
        #expect(row[used] == "6")
        try await queue.expectSound()
      }
    }
  }

  @Test("A PNG that may stay one is stored, sent, analysed and exported as one")
  func png() async throws {
    try await withQueue { queue in
      try await RunningEndpoint.with { endpoint in
        try await queue.addUser("clinic-1")
        let picture = TinyPicture.noise(side: 120)
        let folder = try TemporaryFolder(["a.png": picture])
        let keys = ["--key-file", folder.path("image.keys")]
        for words in [
          ["settings", "set", "png_as_is_ear", "yes", "--yes"], ["keys", "new"] + keys,
          ["submit", "--user", "clinic-1", "--type", "ear", folder.path("a.png")] + keys,
        ] {
          let ended = await (try Executable("analysisctl", words, environment: queue.environment)).ended()
          #expect(ended.code == 0, "\(ended.messages)")
        }
        let image = try await queue.pool.query(
          "SELECT bytes, byte_count, encrypted_by IS NOT NULL AS hidden FROM analysis.image"
        ).single()
        #expect(try image.bool("hidden") && !image.bytes("bytes").starts(with: picture.prefix(4)))
        let worked = await
          (try Executable(
            "analysis-worker", ["--drain", "--endpoint", endpoint.url] + keys, environment: queue.environment
          )).ended()
        #expect(worked.code == 0, "\(worked.messages)")
        #expect(try await queue.results == 1)
        #expect(try endpoint.calls.map { $0["bytes"] as? Int } == [picture.count])

        let out = folder.path("export")
        let exported = await
          (try Executable(
            "analysisctl", ["users", "export", "clinic-1", "--out", out] + keys,
            environment: queue.environment)).ended()
        #expect(exported.code == 0, "\(exported.messages)")
        let files = try FileManager.default.contentsOfDirectory(atPath: out + "/images")
        #expect(files.count == 1 && files[0].hasSuffix(".png"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: "\(out)/images/\(files[0])")) == Data(picture))
        try await queue.expectSound()
      }
    }
  }

  @Test("A worker killed in the middle of 1,000 jobs loses none: another takes over, and the quota is exact")
  func killedWorker() async throws {
    try await withQueue { queue in
      let gate = Gate()
      let backend = try Backend { call in
        usleep(20_000)
        // So that most of the work is still to be done when the worker dies, however late that is.
        if call.number > 500 { gate.wait() }
        return .analysis(call)
      }
      try await queue.addUser("clinic-1")
      let ids = try await queue.submit(1000, user: "clinic-1", image: drawnPicture())
      #expect(ids.count == 1000)
      let options = ["--endpoint", backend.url, "--concurrency", "16", "--prefetch", "16"]
      let victim = try Executable("analysis-worker", options, environment: queue.environment)
      // In the middle: some results are stored, most are not, and calls wait at the gate, so that their jobs are held.
      try await eventually {
        let results = try await queue.number("SELECT count(*)::int FROM analysis.result")
        return results >= 150 && backend.calls.count > 500
      }
      victim.send(SIGKILL)
      #expect(await victim.ended().wasKilled)
      for _ in 0..<1000 { gate.open() }
      let held = try await queue.number(
        "SELECT coalesce(sum(cardinality(job_ids)), 0)::int FROM analysis.lease")
      #expect(held > 0, "the worker held nothing when it was killed")
      // As if its leases' time were over.
      _ = try await queue.pool.query("UPDATE analysis.lease SET deadline = '-infinity'")

      let heir = try Executable(
        "analysis-worker", options + ["--drain", "--drain-horizon", "30s"],
        environment: queue.environment)
      let ended = await heir.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(
        try await queue.number("SELECT count(*)::int FROM analysis.result WHERE outcome = 1") == 1000
      )
      #expect(try await queue.number("SELECT sum(used)::int FROM analysis.usage") == 1000)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.dead") == 0)
      // Only what the victim held may have been called twice.
      let calls = backend.calls.count
      #expect((1000...(1000 + held)).contains(calls), "\(calls) calls, \(held) held")
      try await queue.expectSound()
    }
  }

  @Test("One user's 1,000 jobs do not delay another's single job beyond those in flight")
  func fairShare() async throws {
    try await withQueue { queue in
      try await RunningEndpoint.with(["--delay", "5ms"]) { endpoint in
        for user in ["many", "one"] { try await queue.addUser(user) }
        let picture = try await drawnPicture()
        let many = try await queue.submit(1000, user: "many", image: picture)
        let (concurrency, prefetch) = (4, 4)
        let worker = try Executable(
          "analysis-worker",
          [
            "--endpoint", endpoint.url, "--concurrency", "\(concurrency)", "--prefetch", "\(prefetch)",
            "--drain",
          ],
          environment: queue.environment)
        try await eventually {
          try await queue.number("SELECT count(*)::int FROM analysis.result") >= 100
        }
        let single = try #require(try await queue.submit(1, user: "one", image: picture).first)
        let before = try await queue.number("SELECT count(*)::int FROM analysis.result")
        try await eventually {
          try await queue.number(
            "SELECT count(*)::int FROM analysis.result WHERE job_id = \(single)") > 0
        }
        let after = try await queue.number(
          """
          SELECT count(*)::int FROM analysis.result
          WHERE finished_at <= (SELECT finished_at FROM analysis.result WHERE job_id = \(single))
          """)
        // Those in flight and held, those whose completion was on its way, and at most one scan of 250 ms
        // in which the single job lay below the worker's mark: at 5 ms a call and 4 calls at once, 200.
        #expect(
          after - before <= 2 * (concurrency + prefetch) + 200,
          "\(after - before) of \(many.count) came first")
        let ended = await worker.ended()
        #expect(ended.code == 0, "\(ended.messages)")
        try await queue.expectSound()
      }
    }
  }

  @Test("SIGTERM lets the calls in flight finish, hands the rest back and exits with 0")
  func drainsOnSIGTERM() async throws {
    try await withQueue { queue in
      try await RunningEndpoint.with(["--delay", "200ms"]) { endpoint in
        try await queue.addUser("clinic-1")
        _ = try await queue.submit(200, user: "clinic-1", image: drawnPicture())
        let worker = try Executable(
          "analysis-worker", ["--endpoint", endpoint.url, "--concurrency", "8", "--prefetch", "8"],
          environment: queue.environment)
        try await eventually {
          try await queue.number("SELECT count(*)::int FROM analysis.result") >= 8
        }
        worker.send(SIGTERM)
        let ended = await worker.ended()
        #expect(ended.code == 0, "\(ended.messages)")
        let results = try await queue.number("SELECT count(*)::int FROM analysis.result")
        #expect(try endpoint.calls.count == results, "a call was made whose result was not stored")
        #expect(try await queue.number("SELECT count(*)::int FROM analysis.ready") == 200 - results)
        try await queue.expectSound()
      }
    }
  }

  @Test("Two SIGTERMs hand even the calls in flight back at once")
  func stopsAtOnce() async throws {
    try await withQueue { queue in
      try await RunningEndpoint.with(["--delay", "60s"]) { endpoint in
        try await queue.addUser("clinic-1")
        _ = try await queue.submit(20, user: "clinic-1", image: drawnPicture())
        let worker = try Executable(
          "analysis-worker", ["--endpoint", endpoint.url, "--concurrency", "8"],
          environment: queue.environment)
        try await eventually { try await queue.number("SELECT count(*)::int FROM analysis.lease") > 0 }
        worker.send(SIGTERM)
        try await eventually { worker.messagesSoFar.contains("Stopping") }
        worker.send(SIGTERM)
        let ended = await worker.ended()
        #expect(ended.code == 0, "\(ended.messages)")
        #expect(
          try await queue.number("SELECT count(*)::int FROM analysis.ready WHERE tries = 0") == 20)
        try await queue.expectSound()
      }
    }
  }
}
