import PostgreSQL
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@testable import Images
@testable import Queue
@testable import Support
@testable import Worker

@Suite("Images in an object store")
struct ImageStoreTests {
  /// A worker's store, keys and backend, with objects of jobs that wait.
  private struct Scene {
    let queue: QueueFixture
    let server: ScriptedStore
    let store: ImageStore
    let ring: KeyRing
    let backend: Backend
    let images: [[UInt8]]

    func drain(_ change: (inout WorkerConfiguration) -> Void = { _ in }) async throws -> WorkerSummary {
      try await Running.drain(queue, backend) {
        configure(&$0)
        change(&$0)
      }
    }

    func configure(_ configuration: inout WorkerConfiguration) {
      configuration.imageKeys = ImageKeys(ring)
      configuration.imageStore = store
      configuration.storeProbe = .milliseconds(100)
    }

    func expectAllSent() async throws {
      for image in images { #expect(backend.calls.filter { $0.carries(image) }.count == 1) }
      #expect(try await queue.count("attempt_error") == 0)
      #expect(try await queue.results == images.count)
      try await queue.expectSound()
    }
  }

  private func with(
    objects: Int, deadline: Duration? = nil, _ body: (Scene) async throws -> Void
  ) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let (server, ring) = (try ScriptedStore(), try KeyRing(at: 0))
      let store = try server.store(deadline: deadline)
      let images = try await queue.submitObjects(objects, to: store, under: ring)
      try await body(
        Scene(queue: queue, server: server, store: store, ring: ring, backend: try Backend(), images: images))
      await store.close()
    }
  }

  @Test(
    "are sent as they were before, beside those of the database; the store has nothing but what is encrypted")
  func sent() async throws {
    try await with(objects: 5) { scene in
      let inDatabase = try await scene.queue.submitEncrypted(3, under: scene.ring)
      let summary = try await scene.drain()
      #expect(summary.completed == 8 && summary.retried == 0 && summary.dead == 0)
      for image in scene.images + inDatabase.map(\.plain) {
        #expect(scene.backend.calls.filter { $0.carries(image) }.count == 1)
      }
      #expect(scene.server.wasSigned && scene.server.reads.count == 5)
      for bytes in scene.server.objects.values {
        #expect(bytes.count == 740 && !scene.images.contains { bytes.firstRange(of: $0) != nil })
      }
      #expect(
        try await scene.queue.number(
          "SELECT count(*)::int FROM analysis.image WHERE bytes IS NULL AND byte_count = 740") == 5)
      try await scene.queue.expectSound()
    }
  }

  @Test("of which the store has no object make their job dead, and no other")
  func absent() async throws {
    try await with(objects: 3) { scene in
      scene.server.lose(try #require(scene.server.objects.keys.sorted().first))
      let summary = try await scene.drain()
      #expect(summary.completed == 2 && summary.dead == 1 && summary.retried == 0)
      #expect(
        try await scene.queue.texts("SELECT class || ' ' || code FROM analysis.dead") == [
          "image image_missing"
        ])
      try await scene.queue.expectSound()
    }
  }

  @Test("that are other bytes than were submitted make their job dead, and are not sent")
  func wrongBytes() async throws {
    try await with(objects: 2) { scene in
      let keys = scene.server.objects.keys.sorted()
      let other = try #require(scene.server.objects[keys[1]])
      scene.server.fail { $0 == keys[0] ? .bytes(other) : nil }
      let summary = try await scene.drain()
      #expect(summary.completed == 1 && summary.dead == 1)
      #expect(try await scene.queue.texts("SELECT code FROM analysis.dead") == ["image_tampered"])
      #expect(scene.backend.calls.count == 1)
      try await scene.queue.expectSound()
    }
  }

  @Test(
    "wait while the store is of no use, and consume no attempt",
    arguments: [
      (503, "SlowDown"), (500, "InternalError"), (403, "AccessDenied"), (404, "NoSuchBucket"),
      (403, "RequestTimeTooSkewed"), (0, "reset"),
    ])
  func paused(status: Int, code: String) async throws {
    try await with(objects: 6) { scene in
      scene.server.fail { _ in status == 0 ? .reset : .status(status, code: code) }
      let worker = try Running(scene.queue, [.throat: scene.backend]) { scene.configure(&$0) }
      try await eventually("the store to be left alone") {
        worker.log.lines.contains { $0.contains("The image store is left alone") }
      }
      #expect(worker.gauge("endpoints_shut") == 1 && scene.backend.calls.isEmpty)
      let told = try #require(worker.log.lines.first { $0.contains("The image store is left alone") })
      #expect(status == 0 || told.contains("answered \(status) \(code)"))
      scene.server.fail(nil)
      try await eventually("every result") { try await scene.queue.results == 6 }
      #expect(worker.log.lines.contains { $0.contains("The image store answers again") })
      worker.stop()
      #expect(try await worker.summary().dead == 0)
      try await scene.expectAllSent()
    }
  }

  @Test("wait too where the store takes longer than a request may, and consume no attempt")
  func slow() async throws {
    try await with(objects: 6, deadline: .milliseconds(500)) { scene in
      let gate = Gate()
      scene.server.fail { _ in
        gate.wait()
        gate.open()  // for the next one
        return nil
      }
      let worker = try Running(scene.queue, [.throat: scene.backend]) { scene.configure(&$0) }
      try await eventually("the store to be left alone") {
        worker.log.lines.contains { $0.contains("The image store is left alone") }
      }
      #expect(scene.backend.calls.isEmpty)
      scene.server.fail(nil)
      gate.open()
      try await eventually("every result") { try await scene.queue.results == 6 }
      worker.stop()
      #expect(try await worker.summary().dead == 0)
      try await scene.expectAllSent()
    }
  }

  @Test(
    "are asked for once more where the answer is late, and the first good one counts",
    arguments: [false, true])
  func hedged(failsSecond: Bool) async throws {
    let others = FetchTimes.least + 10
    try await with(objects: others) { scene in
      let worker = try Running(scene.queue, [.throat: scene.backend]) { scene.configure(&$0) }
      try await eventually("the others") { try await scene.queue.results == others }
      let (before, gate) = (scene.server.reads.count, Gate())
      let asked = Mutex(0)
      scene.server.fail { _ in
        let number = asked.withLock { asked in
          asked += 1
          return asked
        }
        if number == 1 { gate.wait() }
        return failsSecond && number == 2 ? .status(500, code: "InternalError") : nil
      }
      let late = try await scene.queue.submitObjects(1, to: scene.store, under: scene.ring, from: 200)
      try await eventually("the second question") { scene.server.reads.count == before + 2 }
      if failsSecond { gate.open() }
      try await eventually("the late one") { try await scene.queue.results == others + 1 }
      gate.open()
      #expect(scene.server.reads.count == before + 2 && Set(scene.server.reads.suffix(2)).count == 1)
      #expect(worker.count("image_hedges") >= 1)
      #expect(scene.backend.calls.filter { $0.carries(late[0]) }.count == 1)
      worker.stop()
      #expect(try await worker.summary().dead == 0)
      #expect(try await scene.queue.count("attempt_error") == 0)
      try await scene.queue.expectSound()
    }
  }

  @Test("are asked for again where the answer broke off")
  func truncated() async throws {
    try await with(objects: 3) { scene in
      let seen = Mutex<Set<String>>([])
      scene.server.fail { key in seen.withLock { $0.insert(key).inserted } ? .truncated : nil }
      #expect(try await scene.drain().completed == 3)
      try await scene.expectAllSent()
    }
  }

  @Test("are where their row says by now, when they were moved while they were read")
  func moved() async throws {
    try await with(objects: 1) { scene in
      let (key, bytes) = try #require(scene.server.objects.first)
      let gate = Gate()
      scene.server.fail { _ in
        gate.wait()
        return .status(404, code: "NoSuchKey")
      }
      let worker = try Running(scene.queue, [.throat: scene.backend]) { scene.configure(&$0) }
      try await eventually("the question for the object") { !scene.server.reads.isEmpty }
      _ = try await scene.queue.pool.query(
        "UPDATE analysis.image SET bytes = $1, object_key = NULL WHERE object_key = $2",
        [.bytes(bytes), .text(key)])
      gate.open()
      try await eventually("the result") { try await scene.queue.results == 1 }
      worker.stop()
      #expect(try await worker.summary().dead == 0)
      try await scene.expectAllSent()
    }
  }

  @Test("wait for a worker that has the store, where one has none")
  func withoutStore() async throws {
    try await with(objects: 2) { scene in
      let worker = try Running(scene.queue, [.throat: scene.backend]) {
        scene.configure(&$0)
        $0.imageStore = nil
        $0.keyWait = .milliseconds(50)
      }
      try await eventually("both to be put off") {
        try await scene.queue.number(
          "SELECT count(DISTINCT job_id)::int FROM analysis.attempt_error WHERE code = 'image_store_missing'")
          == 2
      }
      worker.stop()
      #expect(try await worker.summary().dead == 0)
      #expect(try await scene.queue.count("attempt_error WHERE consumed") == 0)
      try await eventually("all to be due") { try await scene.drain().completed == 2 }
      try await scene.queue.expectSound()
    }
  }

  @Test("are left by a drain that finds the store away, which says so")
  func drained() async throws {
    try await with(objects: 3) { scene in
      scene.server.fail { _ in .status(403, code: "AccessDenied") }
      let summary = try await Running.drain(scene.queue, scene.backend, horizon: .milliseconds(300)) {
        scene.configure(&$0)
        $0.storeProbe = .seconds(30)
      }
      #expect(summary.isParked && summary.completed == 0)
      #expect(summary.left.contains { $0.contains("The image store") && $0.contains("403 AccessDenied") })
      #expect(try await scene.queue.count("ready") == 3)
      #expect(try await scene.queue.count("attempt_error") == 0)
      try await scene.queue.expectSound()
    }
  }

  @Test("that a back-end has written are cleaned like others, and dead where the object has not its hash")
  func ofBackEnd() async throws {
    try await with(objects: 0) { scene in
      try await scene.queue.execute(
        "UPDATE analysis.setting SET value = 's3-plaintext' WHERE name = 'image_store'")
      let place = try #require(
        try await NewImages.read(scene.queue.pool, store: scene.store, hasKeys: false))
      let photo = try Photo.withMetadata()
      for sha256 in [SHA256.digest(of: photo), QueueFixture.hash(1)] {
        let object = try await place.put(photo, sha256: sha256)
        #expect(
          try await scene.queue.pool.query(
            "SELECT outcome FROM analysis.submit_object('clinic', 'throat', $1, $2, $3)",
            [.text(object.key), .bytes(sha256), .int32(Int32(object.byteCount))]
          ).single().string(0) == "created")
      }
      let summary = try await scene.drain()
      #expect(summary.completed == 1 && summary.dead == 1)
      #expect(try await scene.queue.texts("SELECT code FROM analysis.dead") == ["image_tampered"])
      #expect(scene.backend.calls.count == 1 && !scene.backend.calls.contains { $0.carries(photo) })
      try await scene.queue.expectSound()
    }
  }

  @Test("stand still in the queue's state, in one sentence that names the store")
  func told() async throws {
    try await with(objects: 2) { scene in
      scene.server.fail { _ in .status(403, code: "AccessDenied") }
      let worker = try Running(scene.queue, [.throat: scene.backend, .ear: scene.backend]) {
        scene.configure(&$0)
        $0.storeProbe = .seconds(30)
      }
      try await eventually("the state") {
        let row = try await scene.queue.pool.query("SELECT o_state, o_why FROM analysis.queue_state()")
          .single()
        let why = try row.stringIfPresent(1) ?? ""
        return try row.string(0) == "endpoint shut" && why.contains("image store")
          && why.contains("AccessDenied")
      }
      worker.stop()
      _ = try await worker.summary()
      try await scene.queue.expectSound()
    }
  }
}
