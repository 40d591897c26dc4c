import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("A purge, by the real executable")
struct PurgeProcessTests {
  private func purge(_ queue: QueueFixture, _ words: String...) throws -> Executable {
    try Executable("analysisctl", ["purge", "--yes"] + words, environment: queue.environment)
  }

  /// Jobs that ended two days ago, where images are kept for an hour, each with a picture of its own.
  private func plant(_ queue: QueueFixture, _ count: Int) async throws {
    try await queue.addUser("clinic-1")
    try await queue.pool.execute(
      script: """
        SELECT count(*) FROM analysis.account a, generate_series(1, \(count)) g,
          LATERAL analysis.submit_image(a.user_ref, 'ear', E'\\\\xffd8ff' || convert_to('image ' || g, 'UTF8')) s;
        INSERT INTO analysis.result (shard, period, kind, outcome, job_id, user_id, finished_at, attempt, calls)
        SELECT shard, period, kind, 2, id, user_id, now() - interval '2 days', 0, 0 FROM analysis.job;
        UPDATE analysis.job SET closed = true;
        DELETE FROM analysis.ready;
        UPDATE analysis.usage SET used = 0, refunded = \(count);
        UPDATE analysis.image SET used_at = now() - interval '3 days';
        UPDATE analysis.setting SET value = '1 hour' WHERE name = 'keep_images'
        """)
  }

  @Test("says what would go, removes it, and has nothing to do then: 0, 0, 5")
  func codes() async throws {
    try await withQueue { queue in
      try await plant(queue, 3)
      let dry = try await purge(queue, "--dry-run", "--json").ended()
      #expect(dry.code == 0 && dry.output.contains(#""rows":3"#), "\(dry.output) \(dry.messages)")
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.image") == 3)
      let done = try await purge(queue).ended()
      #expect(done.code == 0 && done.output.hasPrefix("Removed:\n"), "\(done.output) \(done.messages)")
      #expect(try await purge(queue).ended().code == 5)
      #expect(try await purge(queue, "--share", "200").ended().code == 64)
      try await queue.expectSound()
    }
  }

  /// A folder of images that were fetched: one two days ago, one now.
  private func plantCache(_ folder: TemporaryFolder) throws -> (path: String, old: String, young: String) {
    let path = folder.path("photos")
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let names = ["a", "b"].map { String(repeating: $0, count: 64) }
    for name in names + ["names", "notes.txt"] {
      try Data("encrypted".utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }
    for name in [names[0], "names", "notes.txt"] {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -172_800)], ofItemAtPath: "\(path)/\(name)")
    }
    return (path, names[0], names[1])
  }

  @Test("takes what was fetched a day ago from this machine's folder, and nothing else of it")
  func cache() async throws {
    try await withQueue { queue in
      let folder = try TemporaryFolder()
      let (path, old, young) = try plantCache(folder)
      func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
      let dry = try await purge(queue, "--url-cache", path, "--dry-run", "--json").ended()
      let line = #"{"kind":"cache","month":null,"rows":1,"bytes":9,"whole_month":false}"#
      #expect(dry.code == 0 && dry.output.contains(line), "\(dry.output) \(dry.messages)")
      #expect(try names() == [old, young, "names", "notes.txt"])
      let done = try await purge(queue, "--url-cache", path, "--json").ended()
      #expect(done.code == 0 && done.output.contains(line), "\(done.output) \(done.messages)")
      #expect(try names() == [young, "names", "notes.txt"])
      #expect(try await purge(queue, "--url-cache", path).ended().code == 5)
    }
  }

  @Test("of a machine that has no login at the database takes what was fetched a day ago")
  func cacheAlone() async throws {
    let folder = try TemporaryFolder()
    let (path, old, young) = try plantCache(folder)
    try Data("url-cache = \(path)\n".utf8).write(to: URL(fileURLWithPath: folder.path("ctl.conf")))
    let words = ["purge", "--cache-only", "--config", folder.path("ctl.conf")]
    let environment = ["ANALYSIS_DATABASE": "host=/nonexistent"]
    let done = try await Executable("analysisctl", words, environment: environment).ended()
    #expect(done.code == 0 && done.output.hasPrefix("Removed:\n"), "\(done.output) \(done.messages)")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: path).sorted() == [young, "names", "notes.txt"])
    #expect(!FileManager.default.fileExists(atPath: "\(path)/\(old)"))
    #expect(try await Executable("analysisctl", words, environment: environment).ended().code == 5)
  }

  @Test(
    "stopped by a signal it ends in good order with 75, killed it leaves nothing half done, and the next goes on"
  )
  func stopped() async throws {
    try await withQueue { queue in
      try await plant(queue, 3000)
      func left() async throws -> Int {
        try await queue.number("SELECT count(*)::int FROM analysis.image")
      }
      for signal in [SIGTERM, SIGKILL] {
        let before = try await left()
        // So slow that it is surely met in the middle: a hundredth of the time.
        let slow = try purge(queue, "--share", "1")
        try await eventually { try await left() < before }
        slow.send(signal)
        let ended = await slow.ended()
        if signal == SIGTERM {
          #expect(ended.code == 75 && ended.output.contains("Stopped before the end"), "\(ended.messages)")
        }
        #expect(try await left() > 0)
        try await queue.expectSound()
      }
      let rest = try await purge(queue, "--share", "100").ended()
      #expect(rest.code == 0, "\(rest.messages)")
      #expect(try await left() == 0)
      try await queue.expectSound()
    }
  }
}
