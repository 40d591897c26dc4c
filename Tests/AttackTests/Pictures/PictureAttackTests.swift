import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

/// A way to have another picture analysed than the one that was submitted, by who can write the tables.
struct PictureAttack: Sendable {
  /// What is tried, in words.
  let tries: String
  /// What becomes of the row of the image.
  let change: String

  static let all: [PictureAttack] = [
    PictureAttack(
      tries: "changes a byte of the picture",
      change:
        "bytes = set_byte(bytes, octet_length(bytes) - 20, get_byte(bytes, octet_length(bytes) - 20) # 1)"),
    PictureAttack(
      tries: "changes its key",
      change: "wrapped_key = set_byte(wrapped_key, 30, get_byte(wrapped_key, 30) # 1)"),
    PictureAttack(tries: "changes its hash", change: "sha256 = sha256('another')"),
    PictureAttack(
      tries: "puts a plaintext picture in its place",
      change: "bytes = 'planted', byte_count = 7, encrypted_by = NULL, wrapped_key = NULL"),
    PictureAttack(
      tries: "puts a plaintext picture and its hash in its place",
      change:
        "bytes = 'planted', byte_count = 7, encrypted_by = NULL, wrapped_key = NULL, sha256 = sha256('planted')"
    ),
    PictureAttack(
      tries: "gives it to another person",
      change: "user_id = (SELECT a.user_id FROM analysis.account a WHERE a.user_ref = 'mallory')"),
    PictureAttack(
      tries: "puts another person's encrypted picture in its place",
      change: """
        bytes = o.bytes, byte_count = o.byte_count, encrypted_by = o.encrypted_by, wrapped_key = o.wrapped_key,
        sha256 = o.sha256 FROM analysis.image o WHERE o.user_id = (
          SELECT a.user_id FROM analysis.account a WHERE a.user_ref = 'mallory') AND i.user_id <> o.user_id
        """),
  ]
}

/// The pictures that are attacked, and one more.
private let pictures = DrawnSamples(["--count", "8", "--seed", "15"])

@Suite("No other picture is analysed than the one that was submitted")
struct PictureAttackTests {
  private struct Clinic {
    let queue: QueueFixture
    let keys: [String]

    func run(_ program: String, _ words: [String], code: Int32 = 0) async throws -> Executable.Ended {
      let ended = try await Executable(
        program, words, environment: ["ANALYSIS_DATABASE": queue.database.conninfo]
      ).ended()
      #expect(ended.code == code, "\(words): \(ended.messages)")
      return ended
    }

    func submit(_ user: String, _ files: [URL], encrypted: Bool = true, code: Int32 = 0) async throws
      -> String
    {
      try await run(
        "analysisctl",
        ["submit", "--user", user, "--type", "throat"] + files.map(\.path) + (encrypted ? keys : []),
        code: code
      ).messages
    }
  }

  /// Lends a database with two persons and a key file.
  private func with(_ body: (_ clinic: Clinic, _ files: [URL]) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    let files = try FileManager.default.contentsOfDirectory(
      at: try await pictures.folder(), includingPropertiesForKeys: nil
    ).sorted { $0.path < $1.path }
    try await withQueue { queue in
      for user in ["ann", "mallory"] { try await queue.addUser(user) }
      let clinic = Clinic(queue: queue, keys: ["--key-file", folder.path("image.keys")])
      _ = try await clinic.run("analysisctl", ["keys", "new"] + clinic.keys)
      try await body(clinic, files)
    }
  }

  @Test(
    "Whoever changes, plants or swaps a picture in the tables has it dead with its cause, and nothing is sent"
  )
  func changed() async throws {
    try await with { clinic, files in
      let count = PictureAttack.all.count
      try #require(files.count > count)
      _ = try await clinic.submit("ann", Array(files.prefix(count)))
      let images = try await clinic.queue.numbers("SELECT id FROM analysis.image ORDER BY id")
      _ = try await clinic.submit("mallory", [files[count]])
      for (image, attack) in zip(images, PictureAttack.all) {
        _ = try await clinic.queue.pool.query(
          "UPDATE analysis.image i SET \(Self.bound(attack.change, to: image))")
      }
      let backend = try Backend()
      _ = try await clinic.run("analysis-worker", ["--drain", "--endpoint", backend.url] + clinic.keys)
      let causes = try await clinic.queue.pool.query(
        "SELECT j.image_id, d.code FROM analysis.dead d JOIN analysis.job j ON j.id = d.job_id"
      ).map { (try $0.int(0), try $0.string(1)) }
      let code = Dictionary(uniqueKeysWithValues: causes)
      for (image, attack) in zip(images, PictureAttack.all) {
        #expect(code[image] == "image_tampered", "\(attack.tries)")
      }
      #expect(backend.calls.count == 1, "the picture that nobody touched is sent")
    }
  }

  private static func bound(_ change: String, to image: Int) -> String {
    change + (change.contains(" WHERE o.") ? " AND" : " WHERE") + " i.id = \(image)"
  }

  @Test("Where encryption is required, no picture comes in or goes out in plaintext")
  func required() async throws {
    try await with { clinic, files in
      _ = try await clinic.submit("ann", [files[0]], encrypted: false)
      try await clinic.queue.execute(
        "UPDATE analysis.setting SET value = 'yes' WHERE name = 'require_encryption'")
      let refused = try await clinic.queue.text(
        "SELECT outcome || ' ' || reason FROM analysis.submit_image('ann', 'throat', E'\\\\xffd8ff'::bytea)")
      #expect(refused.hasPrefix("refused ") && refused.contains("analysisctl submit"))
      let told = try await clinic.submit("ann", [files[1]], encrypted: false, code: 4)
      #expect(told.contains("--key-file"), "\(told)")
      _ = try await clinic.submit("ann", [files[1]])
      let backend = try Backend()
      _ = try await clinic.run(
        "analysis-worker", ["--drain", "--require-encryption", "--endpoint", backend.url] + clinic.keys)
      #expect(backend.calls.count == 1)
      #expect(try await clinic.queue.texts("SELECT code FROM analysis.dead") == ["image_not_encrypted"])
    }
  }

  @Test("A dump does not confirm a picture that somebody has")
  func dump() async throws {
    try await with { clinic, files in
      _ = try await clinic.submit("mallory", [files[0]], encrypted: false)
      _ = try await clinic.submit("ann", [files[0]])
      // Whoever has the picture can hash it as it is stored in plaintext.
      let confirmed = try await clinic.queue.texts(
        """
        SELECT a.user_ref FROM analysis.image i JOIN analysis.account a USING (shard, user_id)
        WHERE i.sha256 = (SELECT sha256(p.bytes) FROM analysis.image p WHERE p.encrypted_by IS NULL)
        """)
      #expect(confirmed == ["mallory"])
      #expect(try await clinic.queue.count("image") == 2)
    }
  }
}
