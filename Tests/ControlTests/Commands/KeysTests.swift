import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Images
@testable import Queue
@testable import Support

@Suite("analysisctl keys and submit --key-file, against a server")
struct KeysTests {
  /// A folder with pictures and the path of a key file beside them.
  private struct KeyFixture {
    let files = try? TemporaryFolder()
    let queue: QueueFixture

    init(_ queue: QueueFixture, pictures: Int = 0) throws {
      self.queue = queue
      for index in 0..<pictures {
        try files?.write(TinyPicture.png(grey: UInt8(index)), to: "photos/p\(index).png")
      }
    }

    var keys: String { files?.path("image.keys") ?? "" }
    var photos: String { files?.path("photos") ?? "" }

    func run(_ words: String...) async -> Control.Ran {
      await queue.control.run(words + ["--key-file", keys])
    }

    func ring() throws -> KeyRing { try KeyFile.read(keys) }
  }

  /// Bytes and encrypts of all images, by number.
  private func images(_ queue: QueueFixture) async throws -> [Int64: (
    bytes: [UInt8], key: Int64?, encrypted: [UInt8]?
  )] {
    let rows = try await queue.pool.query(
      "SELECT id, bytes, encrypted_by, wrapped_key FROM analysis.image")
    var images: [Int64: (bytes: [UInt8], key: Int64?, encrypted: [UInt8]?)] = [:]
    for row in rows {
      images[try row.int64(0)] = (
        try row.bytes(1), try row.int64IfPresent(2), try row.isNull(3) ? nil : try row.bytes(3)
      )
    }
    return images
  }

  @Test("images are encrypted before they are stored, under their user, and open with the key file")
  func submitted() async throws {
    try await withQueue { (queue) async throws in
      let desk = try KeyFixture(queue, pictures: 3)
      try await queue.addUser("u1")
      #expect(await desk.run("keys", "new").code == .done)
      let ran = await desk.run("submit", "--user", "u1", "--type", "throat", desk.photos)
      #expect(ran.code == .done && ran.lines == ["B1: 3 jobs"], "\(ran.messages)")
      let ring = try desk.ring()
      let rows = try await queue.pool.query(
        "SELECT k.bytes, k.encrypted_by, k.wrapped_key, k.sha256, j.image_bytes, k.byte_count FROM analysis.image k JOIN analysis.job j ON j.image_id = k.id"
      )
      #expect(rows.count == 3)
      for row in rows {
        let (bytes, sha256) = (try row.bytes(0), try row.bytes(3))
        #expect(try row.int64(1) == ring.currentID.value)
        #expect(try row.int(4) == bytes.count && row.int(5) == bytes.count)
        let key = WrappedKey(keyID: ring.currentID, bytes: try row.bytes(2))
        let plain = try bytes.withUnsafeBytes { bytes in
          Result { () throws(ImageEncryptionError) in
            try ring.open(bytes, key, ImageBinding(user: "u1", sha256: sha256))
          }
        }.get()
        #expect(plain.starts(with: [0xFF, 0xD8, 0xFF]) && ring.imageHash(of: plain) == sha256)
        #expect(sha256 != SHA256.digest(of: plain), "a dump does not confirm a picture")
        #expect(!bytes.starts(with: [0xFF, 0xD8, 0xFF]))
      }
    }
  }

  @Test("the option may stand in the environment and in the configuration file")
  func sources() async throws {
    try await withQueue { (queue) async throws in
      let desk = try KeyFixture(queue)
      _ = await desk.run("keys", "new")
      var control = queue.control
      control.environment["ANALYSIS_KEY_FILE"] = desk.keys
      #expect(await control("keys", "list").code == .done)
      try desk.files?.write("key-file = \(desk.keys)\n", to: "ctl.conf")
      let configured = await queue.control("keys", "list", "--config", desk.files?.path("ctl.conf") ?? "")
      #expect(configured.code == .done)
      let none = await queue.control("keys", "list")
      #expect(none.code == .usage && none.messages.contains("--key-file"))
    }
  }

  @Test("a key file that cannot be used ends a submit before anything is stored")
  func refusedFile() async throws {
    try await withQueue { (queue) async throws in
      let desk = try KeyFixture(queue, pictures: 1)
      try await queue.addUser("u1")
      let submit = ["submit", "--user", "u1", "--type", "ear", desk.photos, "--key-file"]
      #expect(await queue.control.run(submit + [desk.keys]).code == .unreadableInput)
      _ = await desk.run("keys", "new")
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: desk.keys)
      let wide = await queue.control.run(submit + [desk.keys])
      #expect(wide.code == .permission && wide.messages.contains("chmod 600"))
      try desk.files?.write("current = hunter2\n", to: "image.keys")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: desk.keys)
      let damaged = await queue.control.run(submit + [desk.keys])
      #expect(damaged.code == .usage && damaged.messages.contains("image.keys:1 "))
      #expect(!damaged.messages.contains("hunter2"))
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.image") == 0)
    }
  }

  @Test("list shows the file's keys, what is under each, keys that the file lacks, and what is in plaintext")
  func list() async throws {
    try await withQueue { (queue) async throws in
      let desk = try KeyFixture(queue, pictures: 2)
      try await queue.addUser("u1")
      try await queue.addUser("u2")
      _ = await desk.run("keys", "new")
      _ = await desk.run("submit", "--user", "u1", "--type", "ear", desk.photos)
      let old = try desk.ring().currentID
      _ = await desk.run("keys", "new")
      let new = try desk.ring().currentID
      _ = await queue.control("submit", "--user", "u2", "--type", "ear", desk.photos)
      let listed = await desk.run("keys", "list", "--json")
      #expect(listed.code == .done)
      #expect(listed.output.contains(#"{"key":"\#(old)","created":"20"#))
      #expect(listed.output.contains(#""current":false,"in_file":true,"images":2}"#))
      #expect(listed.output.contains(#""current":true,"in_file":true,"images":0}"#))
      #expect(listed.output.hasSuffix("\"clear_images\":2}\n"))
      let text = await desk.run("keys", "list")
      #expect(text.lines.count == 4 && text.lines[3] == "In plaintext: 2")
      #expect(text.lines[1].hasPrefix("\(old)  20") && text.lines[1].hasSuffix("no            2"))
      #expect(text.lines[2].hasPrefix("\(new)  20"))

      let other = try KeyFixture(queue)
      _ = await other.run("keys", "new")
      let lacking = await other.run("keys", "list")
      #expect(lacking.lines.contains { $0.hasPrefix("\(old)  not in the file") })
      #expect(await other.run("keys", "list", "--json").output.contains(#""in_file":false,"images":2}"#))
    }
  }

  @Test("rotate puts every image under the current key, changes no byte of them, and can be repeated")
  func rotate() async throws {
    try await withQueue { (queue) async throws in
      let desk = try KeyFixture(queue, pictures: 3)
      try await queue.addUser("u1")
      try await queue.addUser("u2")
      _ = await desk.run("keys", "new")
      _ = await desk.run("submit", "--user", "u1", "--type", "ear", desk.photos)
      _ = await queue.control("submit", "--user", "u2", "--type", "ear", desk.photos)
      let before = try await images(queue)
      _ = await desk.run("keys", "new")
      let current = try desk.ring().currentID
      let ran = await desk.run("keys", "rotate", "--json")
      #expect(ran.code == .done, "\(ran.messages)")
      #expect(ran.output == "{\"current\":\"\(current)\",\"rewrapped\":3,\"left\":0,\"failures\":[]}\n")
      let after = try await images(queue)
      #expect(after.mapValues(\.bytes) == before.mapValues(\.bytes))
      for (id, image) in after {
        #expect((image.key == nil) == (before[id]?.key == nil))
        guard image.key != nil else { continue }
        #expect(image.key == current.value && image.encrypted != before[id]?.encrypted)
      }
      #expect(await desk.run("keys", "rotate").output == "0 images put under key \(current)\n")
    }
  }

  @Test("rotate goes on where it was stopped, leaves what it cannot open, and says so with code 4")
  func partial() async throws {
    try await withQueue { (queue) async throws in
      let desk = try KeyFixture(queue, pictures: 5)
      try await queue.addUser("u1")
      try await queue.addUser("u2")
      _ = await desk.run("keys", "new")
      _ = await desk.run("submit", "--user", "u1", "--type", "ear", desk.photos)
      let first = try desk.ring().currentID
      _ = await desk.run("keys", "new")
      let current = try desk.ring().currentID
      // One image was moved to another user, one is under a key that nobody has.
      try await queue.execute(
        """
        UPDATE analysis.image SET user_id = (SELECT user_id FROM analysis.account WHERE user_ref = 'u2')
        WHERE id = (SELECT min(id) FROM analysis.image);
        UPDATE analysis.image SET encrypted_by = 77 WHERE id = (SELECT max(id) FROM analysis.image);
        """)
      let ran = await desk.run("keys", "rotate")
      #expect(ran.code == .refused)
      #expect(ran.lines[0] == "3 images put under key \(current)")
      #expect(ran.output.contains("moved from another user"))
      #expect(ran.output.contains("The key file has no key 000000000000004d"))
      #expect(!ran.output.contains("run the command again"))
      let remove = await desk.run("keys", "remove", "\(first)", "--yes", "--at-once")
      #expect(remove.code == .refused && remove.messages.contains("1 images are under key \(first)"))
    }
  }

  @Test("remove takes a key out that nothing is under, and never the current one")
  func remove() async throws {
    try await withQueue { (queue) async throws in
      let desk = try KeyFixture(queue, pictures: 1)
      try await queue.addUser("u1")
      _ = await desk.run("keys", "new")
      let first = try desk.ring().currentID
      let current = await desk.run("keys", "remove", "\(first)", "--yes")
      #expect(current.code == .refused && current.messages.contains("encrypted now"))
      _ = await desk.run("submit", "--user", "u1", "--type", "ear", desk.photos)
      _ = await desk.run("keys", "new")
      #expect(await desk.run("keys", "remove", "\(first)", "--yes", "--at-once").code == .refused)
      #expect(try desk.ring().ids.count == 2)
      _ = await desk.run("keys", "rotate")
      let early = await desk.run("keys", "remove", "\(first)", "--yes")
      #expect(early.code == .refused && early.messages.contains("is not a day old"))
      let unasked = await desk.run("keys", "remove", "\(first)", "--at-once")
      #expect(unasked.code == .usage && unasked.messages.contains("there is no terminal to ask at"))
      #expect(try desk.ring().ids.count == 2)
      let removed = await desk.run("keys", "remove", "\(first)", "--yes", "--at-once", "--json")
      #expect(removed.code == .done, "\(removed.messages)")
      #expect(removed.output.contains(#""removed":"\#(first)""#))
      #expect(try desk.ring().ids.count == 1)
      #expect(await desk.run("keys", "remove", "\(first)", "--yes").code == .refused)
      #expect(await desk.run("keys", "remove", "first", "--yes").code == .usage)
    }
  }

  @Test(
    "remove does not take out what a submit that is not committed has used, and needs no flag after a day")
  func removeWhileSubmitting() async throws {
    try await withQueue { (queue) async throws in
      let desk = try KeyFixture(queue, pictures: 1)
      try await queue.addUser("u1")
      let day = 86_400.0
      let old = try KeyFile.addKey(desk.keys, at: Date().timeIntervalSince1970 - 3 * day)
      _ = await desk.run("submit", "--user", "u1", "--type", "ear", desk.photos)
      _ = try KeyFile.addKey(desk.keys, at: Date().timeIntervalSince1970 - 2 * day)
      _ = await desk.run("keys", "rotate")
      try await queue.pool.withConnection { (other) async throws in
        try await other.execute(
          script: """
            BEGIN;
            INSERT INTO analysis.image (shard, period, user_id, sha256, bytes, byte_count, width, height, unsanitized, created_at,
              used_at, encrypted_by, wrapped_key)
            SELECT shard, period, user_id, sha256(sha256), bytes, byte_count, width, height, unsanitized, created_at, used_at,
              \(old.currentID.value), wrapped_key
            FROM analysis.image;
            """)
        let busy = await desk.run("keys", "remove", "\(old.currentID)", "--yes")
        #expect(
          busy.code == .tryLater && busy.messages.contains("waiting for submits to end"), "\(busy.messages)")
        try await other.execute(script: "COMMIT")
      }
      let used = await desk.run("keys", "remove", "\(old.currentID)", "--yes")
      #expect(used.code == .refused && used.messages.contains("1 images are under key \(old.currentID)"))
      try await queue.execute("DELETE FROM analysis.image WHERE encrypted_by = \(old.currentID.value)")
      #expect(await desk.run("keys", "remove", "\(old.currentID)", "--yes").code == .done)
    }
  }

  @Test("rotate and remove are recorded: from which key to which, how many, by whom and why")
  func recorded() async throws {
    try await withQueue { (queue) async throws in
      let desk = try KeyFixture(queue, pictures: 2)
      try await queue.addUser("u1")
      _ = await desk.run("keys", "new")
      _ = await desk.run("submit", "--user", "u1", "--type", "ear", desk.photos)
      let first = try desk.ring().currentID
      _ = await desk.run("keys", "new")
      let current = try desk.ring().currentID
      // Refused, and nothing of it is recorded.
      #expect(await desk.run("keys", "remove", "\(first)", "--yes", "--at-once").code == .refused)
      #expect(await desk.run("keys", "remove", "\(current)", "--yes").code == .refused)
      #expect(await desk.run("keys", "list").code == .done)
      for words in [
        ["keys", "rotate", "--reason", "yearly"], ["keys", "rotate"],
        ["keys", "remove", "\(first)", "--yes", "--at-once", "--reason", "done"],
      ] {
        #expect(await queue.control.run(words + ["--key-file", desk.keys]).code == .done, "\(words)")
      }
      let entries = try await queue.texts(
        "SELECT concat_ws(' ', action, object, os_user, host, reason) FROM analysis.audit ORDER BY id")
      #expect(
        entries == [
          "rotate_keys key:\(current) olga ops-1 yearly", "remove_key key:\(first) olga ops-1 done",
        ])
      let detail = try await queue.texts(
        "SELECT concat_ws(' ', detail -> 'images', detail -> 'from') FROM analysis.audit WHERE id = 1")
      #expect(detail == [#"2 {"\#(first)": 2}"#])
      #expect(await queue.control("audit", "verify").code == .done)
    }
  }

  @Test("a key whose removal cannot be recorded stays in the file")
  func unrecorded() async throws {
    try await withQueue { (queue) async throws in
      let desk = try KeyFixture(queue)
      _ = await desk.run("keys", "new")
      let first = try desk.ring().currentID
      _ = await desk.run("keys", "new")
      try await queue.execute("DROP FUNCTION analysis.audit_key")
      let ran = await desk.run("keys", "remove", "\(first)", "--yes", "--at-once")
      #expect(ran.code == .unreachable && ran.messages.contains("recording that a key is removed"))
      #expect(try desk.ring().ids.count == 2)
    }
  }

  @Test("new says what it made, and shows no key")
  func new() async throws {
    try await withQueue { (queue) async throws in
      let desk = try KeyFixture(queue)
      let first = await desk.run("keys", "new")
      let id = try desk.ring().currentID
      #expect(first.output == "\(desk.keys): key \(id) is made and current, 1 key in all\n")
      let second = await desk.run("keys", "new", "--json")
      #expect(second.output.hasPrefix(#"{"file":"\#(desk.keys)","current":""#))
      let secrets = try #require(
        try desk.files?.text("image.keys").split(separator: "\n").compactMap {
          $0.hasPrefix("key") ? $0.split(separator: " ").last : nil
        })
      #expect(secrets.count == 2)
      for secret in secrets {
        #expect(!first.output.contains(secret) && !second.output.contains(secret))
      }
      var control = queue.control
      control.environment["ANALYSIS_DATABASE"] = "host=/nonexistent"
      #expect(await control("keys", "new", "--key-file", desk.keys).code == .done)
    }
  }
}
