import Foundation
import QueueTestSupport
import TestSupport
import Testing

@Suite("Encrypted images, by the real executables")
struct EncryptionTests {
  /// The beginning of every image that is stored, as a dump writes it.
  private static let jpeg = "ffd8ffe000104a464946"

  private func control(_ words: [String], _ environment: [String: String]) async throws -> Executable.Ended {
    try await Executable("analysisctl", words, environment: environment).ended()
  }

  /// Submits the drawn pictures and has a worker analyse them.
  private func wholeJob(
    _ queue: QueueFixture, _ environment: [String: String], keys: String?
  ) async throws {
    let keyFile = keys.map { ["--key-file", $0] } ?? []
    try await queue.addUser("clinic-1")
    let pictures = try await drawnPictures.folder().path
    let submitted = try await control(
      ["submit", "--user", "clinic-1", "--type", "throat", pictures] + keyFile, environment)
    #expect(submitted.code == 4, "the bad files are refused by name: \(submitted.messages)")
    try await RunningEndpoint.with { endpoint in
      let worker = try Executable(
        "analysis-worker",
        ["--drain", "--endpoint", endpoint.url, "--drain-horizon", "10s"] + keyFile, environment: environment)
      let ended = await worker.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      if keys != nil { #expect(ended.messages.contains("Encrypted images can be read")) }
    }
    #expect(try await queue.number("SELECT count(*)::int FROM analysis.result WHERE outcome = 1") == 6)
    try await queue.expectSound()
  }

  @Test(
    "Nothing of an image is in a dump of the database with a key file, and all of it without",
    .needsDump, arguments: [true, false])
  func dumped(isEncrypted: Bool) async throws {
    try await withQueue { queue in
      let folder = try TemporaryFolder()
      let keys = folder.path("image.keys")
      if isEncrypted {
        #expect(try await control(["keys", "new", "--key-file", keys], [:]).code == 0)
      }
      try await wholeJob(queue, queue.environment, keys: isEncrypted ? keys : nil)
      let dump = try await queue.dump()
      #expect(dump.contains("COPY analysis.image_p"))
      #expect(dump.contains(Self.jpeg) == !isEncrypted)
      #expect(dump.contains("\\\\xffd8ff") == !isEncrypted)
      if isEncrypted {
        let secret = try String(contentsOfFile: keys, encoding: .utf8).split(separator: " ").last?.prefix(64)
        #expect(!dump.contains(try #require(secret)))
      }
    }
  }

  @Test("A key is changed while nothing stands still, from a new key to the removal of the old one")
  func rotation() async throws {
    try await withQueue { queue in
      let environment = queue.environment
      let folder = try TemporaryFolder()
      let keys = ["--key-file", folder.path("image.keys")]
      #expect(try await control(["keys", "new"] + keys, [:]).code == 0)
      try await queue.addUser("clinic-1")
      let pictures = try await drawnPictures.folder().path
      try await RunningEndpoint.with { endpoint in
        let worker = try Executable(
          "analysis-worker", ["--endpoint", endpoint.url] + keys, environment: environment)
        let submit = ["submit", "--user", "clinic-1", "--type", "ear", "--wait", pictures] + keys
        #expect(try await control(submit, environment).code == 4)
        let old = try await queue.text(
          "SELECT DISTINCT lpad(to_hex(encrypted_by), 16, '0') FROM analysis.image")
        #expect(try await control(["keys", "new"] + keys, [:]).code == 0)
        #expect(try await control(["keys", "rotate"] + keys, environment).code == 0)
        #expect(
          try await control(["keys", "remove", old, "--at-once", "--yes"] + keys, environment).code == 0)
        // The worker has not been started again, and meets images under a key that it has to look for.
        let again = ["submit", "--user", "clinic-1", "--type", "throat", "--wait", pictures] + keys
        #expect(try await control(again, environment).code == 4)
        #expect(
          try await control(["doctor", "--all"] + keys, environment).output.contains(
            "every key that images name"))
        worker.send(SIGTERM)
        let ended = await worker.ended()
        #expect(ended.code == 0 && ended.messages.contains("The key file has changed"), "\(ended.messages)")
      }
      #expect(
        try await queue.number("SELECT count(*)::int FROM analysis.result WHERE outcome = 1") == 12)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.attempt_error") == 0)
    }
  }

  @Test(
    "Through a pooler in transaction mode it is the same",
    .enabled(if: Pooler.isAvailable, "PgBouncer is not installed (package pgbouncer)"),
    .enabled(if: TestServer.isPrivate))
  func pooled() async throws {
    try await withQueue { queue in
      try await withPooler(before: queue.database.name) { pooler in
        let environment = ["ANALYSIS_DATABASE": pooler.conninfo(database: queue.database.name)]
        let folder = try TemporaryFolder()
        let keys = folder.path("image.keys")
        #expect(try await control(["keys", "new", "--key-file", keys], [:]).code == 0)
        try await wholeJob(queue, environment, keys: keys)
        #expect(try await control(["keys", "new", "--key-file", keys], [:]).code == 0)
        let rotated = try await control(["keys", "rotate", "--key-file", keys], environment)
        #expect(
          rotated.code == 0 && rotated.output.hasPrefix("6 images put under key "), "\(rotated.messages)")
      }
    }
  }

  @Test("Where encryption is required, plaintext is refused by the database, and sent by no worker")
  func required() async throws {
    try await withQueue { queue in
      let folder = try TemporaryFolder()
      let keys = ["--key-file", folder.path("image.keys")]
      #expect(try await control(["keys", "new"] + keys, [:]).code == 0)
      try await queue.addUser("clinic-1")
      let picture = try await drawnPictures.folder().appending(path: "throat-01.jpg").path
      let submit = ["submit", "--user", "clinic-1", "--type", "throat", "--again", picture]
      #expect(try await control(submit, queue.environment).code == 0)
      let set = ["settings", "set", "require_encryption", "yes", "--yes"]
      #expect(try await control(set, queue.environment).code == 0)
      let refused = try await control(submit, queue.environment)
      let told = refused.output + refused.messages
      #expect(refused.code == 4 && told.contains("analysisctl submit --key-file"), "\(told)")
      // The same picture once more, but encrypted: it counts as another.
      #expect(try await control(submit + keys, queue.environment).code == 0)
      #expect(try await queue.number("SELECT count(DISTINCT sha256)::int FROM analysis.image") == 2)

      let config = folder.path("worker.conf")
      try "require-encryption = yes\n".write(toFile: config, atomically: false, encoding: .utf8)
      try await RunningEndpoint.with { endpoint in
        func work(_ words: [String]) async throws -> Executable.Ended {
          try await Executable(
            "analysis-worker", ["--drain", "--endpoint", endpoint.url, "--config", config] + words,
            environment: queue.environment
          ).ended()
        }
        let keyless = try await work([])
        #expect(keyless.code == 64 && keyless.messages.contains("--key-file"), "\(keyless.messages)")
        #expect(try await work(keys).code == 0)
      }
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.result WHERE outcome = 1") == 1)
      #expect(try await queue.texts("SELECT code FROM analysis.dead") == ["image_not_encrypted"])
      try await queue.expectSound()
    }
  }

  @Test("A worker refuses to start with a key file that others can read, or that is none")
  func refused() async throws {
    try await withQueue { queue in
      let folder = try TemporaryFolder()
      let keys = folder.path("image.keys")
      func start() async throws -> Executable.Ended {
        try await Executable(
          "analysis-worker", ["--drain", "--endpoint", "http://127.0.0.1:9", "--key-file", keys],
          environment: queue.environment
        ).ended()
      }
      #expect(try await start().code == 66)
      _ = try await control(["keys", "new", "--key-file", keys], [:])
      try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: keys)
      #expect(try await start().code == 77)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keys)
      let text = try String(contentsOfFile: keys, encoding: .utf8)
      try text.replacingOccurrences(of: "current", with: "currant").write(
        toFile: keys, atomically: false, encoding: .utf8)
      let damaged = try await start()
      #expect(damaged.code == 64 && damaged.messages.contains("image.keys:"))
    }
  }
}
