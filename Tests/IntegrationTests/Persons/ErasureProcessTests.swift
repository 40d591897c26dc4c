import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Images
@testable import Support

@Suite("A person's erasure and access, by the real executables")
struct ErasureProcessTests {
  private static let user = "zebra-7731"
  private static let name = "Zita Zebrowska"
  private static let email = "zita@zebra.example.org"

  /// A user of whom everything there can be is kept, beside another.
  private func plant(_ queue: QueueFixture, folder: TemporaryFolder, keys: [String]) async throws {
    func control(_ words: [String], code: Int32 = 0) async throws {
      let ended = try await Executable("analysisctl", words, environment: queue.environment).ended()
      #expect(ended.code == code, "\(words): \(ended.messages)")
    }
    try await control([
      "users", "add", Self.user, "--plan", "premium", "--name", Self.name, "--email", Self.email,
    ])
    try await control(["users", "add", "other", "--plan", "premium"])
    try await control(["clinics", "add", "north"])
    try await control(["clinics", "assign", Self.user, "north"])
    try await control(
      [
        "users", "set-photo", Self.user, "https://img.zebra.example.org/zita.jpg", "--url-hosts",
        "img.zebra.example.org",
      ])
    let pictures = folder.path("pictures")
    try FileManager.default.createDirectory(atPath: pictures, withIntermediateDirectories: false)
    for (place, source) in ["throat-01.jpg", "throat-03.jpg"].enumerated() {
      try FileManager.default.copyItem(
        at: try await drawnPictures.folder().appending(path: source),
        to: URL(fileURLWithPath: "\(pictures)/zita-mouth-\(place).jpg"))
    }
    let submit = ["submit", "--type", "throat", "--key", "visit-zebra", pictures]
    try await control(submit + ["--user", Self.user] + keys)
    let another = try await drawnPictures.folder().appending(path: "ear-02.png").path
    try await control(["submit", "--type", "ear", "--key", "visit-2", another, "--user", "other"] + keys)
    // Some die, and some are tried again; the sentences are the backend's.
    let faults = ["--fail", "400=0.3@1", "--fail", "503=0.3@1"]
    try await RunningEndpoint.with(faults) { endpoint in
      let worker = try await Executable(
        "analysis-worker", ["--drain", "--endpoint", endpoint.url, "--drain-horizon", "60s"] + keys,
        environment: queue.environment
      ).ended()
      #expect(worker.code == 0, "\(worker.messages)")
    }
    // As a backend might have written it.
    try await queue.pool.execute(
      script: """
        INSERT INTO analysis.attempt_error (shard, period, attempt, calls, job_id, user_id, worker_id, at, maybe_counted,
          consumed, class, code, message, error_id)
        SELECT j.shard, j.period, 1, 1, j.id, j.user_id, 1, now(), false, true, 'permanent', 'ZEBRA', 'for \(Self.name)', 'e-zebra'
        FROM analysis.job j JOIN analysis.account a USING (shard, user_id) WHERE a.user_ref = '\(Self.user)';
        UPDATE analysis.account SET created_at = created_at - interval '100 days';
        INSERT INTO analysis.usage (shard, user_id, period)
          SELECT shard, user_id, analysis.period_of(now(), 'UTC') - 2 FROM analysis.account;
        SELECT analysis.close_usage((analysis.period_of(now(), 'UTC') - 2)::smallint);
        ANALYZE;
        """)
  }

  /// What leads to the person, as a dump writes it: in plaintext, and as bytes.
  private func traces(_ queue: QueueFixture) async throws -> [String] {
    let hashes = try await queue.pool.query(
      """
      SELECT encode(substr(i.sha256, 1, 16), 'hex') FROM analysis.image i JOIN analysis.account a USING (shard, user_id)
       WHERE a.user_ref = '\(Self.user)'
      UNION SELECT substr(encode(i.bytes, 'hex'), 101, 64) FROM analysis.image i JOIN analysis.account a USING (shard, user_id)
       WHERE a.user_ref = '\(Self.user)'
      UNION SELECT encode(k.key_hash, 'hex') FROM analysis.idem k JOIN analysis.account a USING (shard, user_id)
       WHERE a.user_ref = '\(Self.user)'
      UNION SELECT encode(a.key_salt, 'hex') FROM analysis.account a WHERE a.user_ref = '\(Self.user)'
      UNION SELECT r.analysis_id FROM analysis.result r JOIN analysis.account a USING (shard, user_id)
       WHERE a.user_ref = '\(Self.user)' AND r.outcome = 1
      """
    ).map { try $0.string(0) }
    return ["zebra", "zita", "Zebrowska"] + hashes
  }

  @Test(
    "After it nothing in a dump of the database leads to the person, and every count is as it was",
    .needsDump, arguments: [true, false])
  func traceless(isEncrypted: Bool) async throws {
    try await withQueue { (queue) async throws in
      let folder = try TemporaryFolder()
      let keys = isEncrypted ? ["--key-file", folder.path("image.keys")] : []
      if isEncrypted {
        #expect(try await Executable("analysisctl", ["keys", "new"] + keys).ended().code == 0)
      }
      try await plant(queue, folder: folder, keys: keys)
      let traces = try await traces(queue)
      let before = try await queue.dump()
      for trace in traces { #expect(before.localizedCaseInsensitiveContains(trace), "\(trace)") }
      let counts = try await counts(queue)

      let receipt = folder.path("receipt.json")
      let ended = try await Executable(
        "analysisctl",
        [
          "erase", "--user", Self.user, "--confirm", Self.user, "--receipt", receipt, "--reason",
          "request 114",
        ],
        environment: queue.environment
      ).ended()
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(try String(contentsOfFile: receipt, encoding: .utf8).contains("\"user\":\"\(Self.user)\""))

      let after = try await queue.dump()
      // Nor as bytes.
      for trace in traces + [Hexadecimal.text(of: Array("zebra".utf8))] {
        #expect(!after.localizedCaseInsensitiveContains(trace), "\(trace)")
      }
      #expect(after.contains("request 114") && after.contains("other"))
      #expect(try await self.counts(queue) == counts)
      try await queue.expectSound()
      let audit = try await Executable(
        "analysisctl", ["audit", "verify"], environment: queue.environment
      ).ended()
      #expect(audit.code == 0, "\(audit.output)")
      // The other user's pictures are all there.
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.image") == 1)
    }
  }

  /// What bills stand on, user by user and month by month, and the lines of closed statements.
  private func counts(_ queue: QueueFixture) async throws -> [String] {
    try await queue.pool.query(
      """
      SELECT format('%s %s: %s %s %s, analysed %s, failed %s, calls %s', t.user_id, t.for_period, t.used, t.refunded,
                    t.refused, t.analysed, t.failed, t.calls)
      FROM analysis.partition_made m CROSS JOIN LATERAL analysis.usage_report(m.period, NULL, now()) t ORDER BY 1
      """
    ).map { try $0.string(0) }
  }

  @Test("Before it the person gets everything in a folder: data that is JSON, and the pictures as they were")
  func exported() async throws {
    try await withQueue { (queue) async throws in
      let folder = try TemporaryFolder()
      let keys = ["--key-file", folder.path("image.keys")]
      #expect(try await Executable("analysisctl", ["keys", "new"] + keys).ended().code == 0)
      try await plant(queue, folder: folder, keys: keys)
      let out = folder.path("export")
      let export = ["users", "export", Self.user, "--out", out, "--reason", "request 113"]
      let locked = try await Executable("analysisctl", export, environment: queue.environment).ended()
      #expect(locked.code == 66 && locked.messages.contains("--key-file"), "\(locked.messages)")
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: folder.url.path).allSatisfy {
          !$0.hasPrefix("export")
        })

      let ended = try await Executable(
        "analysisctl", export + keys, environment: queue.environment
      ).ended()
      #expect(ended.code == 0, "\(ended.messages)")
      let data = try JSONSerialization.jsonObject(
        with: Data(contentsOf: URL(fileURLWithPath: out + "/data.json")))
      let object = try #require(data as? [String: Any])
      let account = try #require(object["account"] as? [String: Any])
      #expect((account["profile"] as? [String: Any])?["email"] as? String == Self.email)
      #expect(account["clinic"] as? String == "north")
      let jobs = try #require(object["jobs"] as? [[String: Any]])
      #expect(
        jobs.count == 2 && jobs.allSatisfy { ($0["file"] as? String)?.hasPrefix("zita-mouth-") == true })
      #expect(jobs.allSatisfy { ($0["attempts"] as? [Any])?.isEmpty == false })
      for analysis in jobs.compactMap({ $0["analysis"] as? [String: Any] }) {
        let conditions = try #require(analysis["conditions"] as? [[String: Any]])
        let bands = conditions.compactMap { $0["band"] as? String }
        #expect(bands.count == conditions.count)
        #expect(bands.allSatisfy { ["green", "yellow", "orange", "red"].contains($0) })
      }
      let images = try #require(object["images"] as? [[String: Any]])
      #expect(images.count == 2)
      for job in jobs {
        let shown = try #require(job["image"] as? [String: Any])
        let image = try #require(images.first { $0["image"] as? Int == shown["image"] as? Int })
        let name = try #require(image["file"] as? String)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(out)/\(name)"))
        let hash = try #require(shown["hmac_sha256"] as? String)
        let ring = try KeyFile.read(folder.path("image.keys"))
        #expect(Hexadecimal.text(of: ring.imageHash(of: Array(bytes))) == hash)
        #expect(bytes.starts(with: [0xFF, 0xD8, 0xFF]))
      }
      let attributes = try FileManager.default.attributesOfItem(atPath: out)
      #expect(attributes[.posixPermissions] as? Int == 0o700)
      let audit = try await Executable(
        "analysisctl", ["audit", "list", "--user", Self.user, "--json"], environment: queue.environment
      ).ended()
      // Whoever it was, and why, is told of each part.
      #expect(
        try await queue.number(
          """
          SELECT count(DISTINCT action)::int FROM analysis.audit
           WHERE action IN ('export', 'read_result', 'read_image') AND reason = 'request 113' AND os_user IS NOT NULL
          """) == 3)
      #expect(audit.output.contains("read_image") && audit.output.contains("\"export\""), "\(audit.output)")
      let again = try await Executable("analysisctl", export + keys, environment: queue.environment)
        .ended()
      #expect(again.code == 4 && again.messages.contains("is there already"))

      // A picture that was damaged is listed, and the rest written.
      let damaged = try await queue.number(
        """
        UPDATE analysis.image i SET bytes = overlay(i.bytes PLACING E'\\\\x0000000000000000' FROM 60)
        WHERE i.id = (SELECT min(k.id) FROM analysis.image k JOIN analysis.account a USING (shard, user_id)
                      WHERE a.user_ref = '\(Self.user)')
        RETURNING i.id::int
        """)
      let partly = try await Executable(
        "analysisctl", ["users", "export", Self.user, "--out", out + "-2"] + keys,
        environment: queue.environment
      ).ended()
      #expect(partly.code == 4, "\(partly.messages)")
      #expect(partly.output.contains("1 images cannot be read"))
      let rest = try JSONSerialization.jsonObject(
        with: Data(contentsOf: URL(fileURLWithPath: out + "-2/data.json")))
      let listed = try #require((rest as? [String: Any])?["images"] as? [[String: Any]])
      #expect(listed.count == 2)
      #expect(listed.filter { $0["unreadable"] is String }.map { $0["image"] as? Int } == [damaged])
      #expect(try FileManager.default.contentsOfDirectory(atPath: out + "-2/images").count == 1)
    }
  }
}
