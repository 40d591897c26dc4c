import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("Encrypted images in the queue")
struct EncryptedImageTests {
  /// What a worker knows of the user.
  private static let clinic = SHA256.digest(of: Array("clinic".utf8))

  /// A stored key as its form goes; what is in it is nobody's business here.
  private static func encrypt(_ key: Int64 = 7, _ number: UInt8 = 1) -> StoredKey {
    StoredKey(keyID: key, wrappedKey: (0..<72).map { $0 &+ number })
  }

  private func submission(
    _ queue: QueueFixture, _ image: Int, key: String? = nil, storedKey: StoredKey?, bytes: [UInt8]? = nil
  ) -> Submission {
    var item = queue.submission("clinic", image, key: key)
    item.image = .bytes(
      bytes ?? QueueFixture.bytes(image), sha256: QueueFixture.hash(image), width: 640, height: 480,
      storedKey: storedKey)
    return item
  }

  @Test("are stored and read with their encrypts, one alone and many in a call", arguments: [1, 5])
  func stored(count: Int) async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      // The first of a month goes the general way, whatever it is.
      _ = try await queue.submit([queue.submission("clinic", 100)])
      let outcomes = try await queue.submit(
        (1...count).map { submission(queue, $0, storedKey: $0 == 3 ? nil : Self.encrypt(40 + Int64($0))) })
      #expect(outcomes.allSatisfy { $0.job != nil })
      let claimed = try await queue.claimJobs()
      var storedKeys: [Int64: StoredImage.Encryption?] = [:]
      _ = try await ImageReader.read(of: claimed, by: queue.statements.worker, shard: 0, on: queue.pool) {
        key, image in
        storedKeys[key.id] = image.encryption
      }
      #expect(storedKeys.count == count + 1)
      for (index, job) in claimed.dropFirst().enumerated() {
        let number = index + 1
        #expect(job.imageBytes == 500)
        let expected =
          number == 3
          ? nil
          : StoredImage.Encryption(
            Self.encrypt(40 + Int64(number)), userSHA256: Self.clinic)
        #expect(storedKeys[job.image.id] == .some(expected))
      }
    }
  }

  /// The images in the order of their keys: the key, and whether a submit uses them again.
  private func images(_ queue: QueueFixture) async throws -> [String] {
    try await queue.texts(
      "SELECT coalesce(encrypted_by::text, 'plaintext') || CASE WHEN reusable THEN '' ELSE ', not again' END"
        + " FROM analysis.image ORDER BY encrypted_by NULLS FIRST, reusable")
  }

  @Test("An encrypted image is used again under its key, also by who has plaintext", arguments: [1, 2])
  func usedAgain(count: Int) async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit([
        queue.submission("clinic", 9), submission(queue, 2, storedKey: Self.encrypt(5)),
      ])
      for item in [submission(queue, 2, storedKey: Self.encrypt(5, 60)), queue.submission("clinic", 2)] {
        let again = try await queue.submit(Array(repeating: item, count: count))
        #expect(again.allSatisfy { $0.job != nil })
      }
      #expect(try await images(queue) == ["plaintext", "5"])
      let key = try await queue.pool.query("SELECT wrapped_key FROM analysis.image WHERE encrypted_by = 5")
      #expect(try key.single().bytes(0) == Self.encrypt().wrappedKey)
      #expect(try await queue.number("SELECT count(DISTINCT image_id) FROM analysis.job") == 2)
      try await queue.expectSound()
    }
  }

  @Test(
    "One in plaintext, or under another key, gives way to one that comes encrypted, and keeps its jobs",
    arguments: [1, 2])
  func givesWay(count: Int) async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit([
        queue.submission("clinic", 1), submission(queue, 2, storedKey: Self.encrypt(5)),
      ])
      for number in 1...2 {
        let item = submission(queue, number, storedKey: Self.encrypt(9))
        #expect(try await queue.submit(Array(repeating: item, count: count)).allSatisfy { $0.job != nil })
      }
      #expect(try await images(queue) == ["plaintext, not again", "5, not again", "9", "9"])
      // Each job shows what it was submitted with; whoever names the picture gets the encrypted one.
      _ = try await queue.submit([
        Submission(user: "clinic", kind: .ear, image: .known(sha256: QueueFixture.hash(1)))
      ])
      let shown = try await queue.texts(
        """
        SELECT coalesce(i.encrypted_by::text, 'plaintext') FROM analysis.job j
        JOIN analysis.image i ON i.id = j.image_id ORDER BY j.id
        """)
      #expect(shown == ["plaintext", "5"] + Array(repeating: "9", count: 2 * count + 1))
      try await queue.expectSound()
    }
  }

  @Test("Within a call the encrypted one counts, whichever comes first")
  func together() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let outcomes = try await queue.submit([
        queue.submission("clinic", 1), submission(queue, 1, storedKey: Self.encrypt(5)),
        queue.submission("clinic", 1),
      ])
      #expect(outcomes.allSatisfy { $0.job != nil })
      #expect(try await images(queue) == ["5"])
      #expect(try await queue.number("SELECT count(DISTINCT image_id) FROM analysis.job") == 1)
    }
  }

  @Test("Where the setting requires it none in plaintext is taken, nor one used again that is there")
  func required() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit([
        queue.submission("clinic", 1), queue.submission("clinic", 2, key: "old"),
        submission(queue, 3, storedKey: Self.encrypt(5)),
      ])
      try await queue.execute("UPDATE analysis.setting SET value = 'yes' WHERE name = 'require_encryption'")
      let named = [1, 3].map {
        Submission(user: "clinic", kind: .ear, image: .known(sha256: QueueFixture.hash($0)))
      }
      for items in [
        [queue.submission("clinic", 4)],
        [queue.submission("clinic", 4), submission(queue, 5, storedKey: Self.encrypt())],
        [named[0]],
      ] {
        guard case .refused(let refusal) = try await queue.submit(items)[0] else {
          Issue.record("a picture in plaintext was taken")
          return
        }
        let isNamed = items[0].image.byteCount == 0
        #expect(refusal.code == (isNamed ? Refusal.Reason.imageMissing : .plaintextRefused).rawValue)
        #expect(isNamed || refusal.description.contains("analysisctl submit --key-file"))
      }
      #expect(try await queue.submit([named[1]])[0].job != nil)
      // A repeat is answered with its job all the same.
      guard case .duplicate = try await queue.submit([queue.submission("clinic", 2, key: "old")])[0] else {
        Issue.record("a repeat was not answered")
        return
      }
      let bySQL = try await queue.pool.query(
        "SELECT outcome, reason FROM analysis.submit_image('clinic', 'throat', E'\\\\xffd8ff'::bytea)"
      ).single()
      #expect(try bySQL.string(0) == "refused" && bySQL.string(1).contains("analysisctl submit"))
      #expect(try await queue.number("SELECT count(*) FROM analysis.image WHERE encrypted_by IS NULL") == 2)
      try await queue.expectSound()
    }
  }

  @Test("One that a worker found changed is stored anew with the next submit", arguments: [1, 2])
  func changed(count: Int) async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit([
        queue.submission("clinic", 9), submission(queue, 1, storedKey: Self.encrypt(5)),
      ])
      let claimed = try await queue.claimJobs()
      let lease = try #require(claimed.last?.lease)
      let row = try await queue.pool.query(
        """
        SELECT o_outcome FROM analysis.fail(0::smallint, \(QueueFixture.workerSecret), ARRAY[$1], ARRAY[$2], ARRAY[NULL::bigint], '{false}', '{image}',
          '{image_tampered}', '{changed}', NULL, NULL, '{0}', '{false}', NULL)
        """, [.int64(lease), .int64(try #require(claimed.last?.id.value))])
      #expect(try row.single().string(0) == "dead")
      let item = submission(queue, 1, storedKey: Self.encrypt(5, 80))
      #expect(try await queue.submit(Array(repeating: item, count: count)).allSatisfy { $0.job != nil })
      #expect(try await images(queue) == ["plaintext", "5, not again", "5"])
      try await queue.expectInvariants()
    }
  }

  @Test("A repeat under its key is the same job, though every encryption is another")
  func repeated() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let first = try await queue.submit([submission(queue, 1, key: "k", storedKey: Self.encrypt(5, 1))])
      let other = (0..<2000).map { UInt8(truncatingIfNeeded: $0) }
      let again = try await queue.submit([
        submission(queue, 1, key: "k", storedKey: Self.encrypt(5, 2), bytes: other)
      ])
      guard case .duplicate(let job) = again[0] else {
        Issue.record("\(again)")
        return
      }
      #expect(first[0].job == job)
    }
  }

  static let wrong: [(StoredKey, Int)] = [
    (StoredKey(keyID: 0, wrappedKey: [UInt8](repeating: 1, count: 72)), 2000),
    (StoredKey(keyID: -5, wrappedKey: [UInt8](repeating: 1, count: 72)), 2000),
    (StoredKey(keyID: 5, wrappedKey: [UInt8](repeating: 1, count: 71)), 2000),
    (StoredKey(keyID: 5, wrappedKey: []), 2000),
    (StoredKey(keyID: 5, wrappedKey: [UInt8](repeating: 1, count: 72)), 40),
  ]

  @Test("A stored key that cannot be one is refused, and stops no other", arguments: wrong)
  func unsound(storedKey: StoredKey, bytes: Int) async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let bad = submission(queue, 1, storedKey: storedKey, bytes: [UInt8](repeating: 7, count: bytes))
      for items in [[bad], [submission(queue, 2, storedKey: Self.encrypt()), bad]] {
        let outcomes = try await queue.submit(items)
        guard case .refused(let refusal) = outcomes[items.count - 1] else {
          Issue.record("\(outcomes)")
          return
        }
        #expect(refusal.code == Refusal.Reason.badArgument.rawValue)
        #expect(outcomes.dropLast().allSatisfy { $0.job != nil })
      }
    }
  }

  @Test("Images that a back-end submits by SQL, cleaned or not, are kept as they are")
  func bySQL() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      let rows = try await queue.pool.query(
        """
        SELECT o_outcome, o_job FROM analysis.submit(0::smallint, ARRAY['clinic', 'clinic'], ARRAY[1, 2]::smallint[],
          ARRAY[1, 1]::smallint[], ARRAY[sha256('a'), sha256('b')], ARRAY['a'::bytea, 'b'], NULL, NULL, ARRAY[true, false],
          ARRAY['x', NULL], NULL, NULL, NULL, 10::smallint, NULL, NULL)
        """)
      #expect(try rows.map { try $0.string(0) } == ["created", "created"])
      #expect(try await queue.number("SELECT count(*) FROM analysis.image WHERE encrypted_by IS NULL") == 2)
      let image = try await queue.pool.query(
        "SELECT outcome FROM analysis.submit_image('clinic', 'throat', E'\\\\xffd8ff'::bytea)"
      ).single()
      #expect(try image.string(0) == "created")
    }
  }

  @Test("are counted by key, and put under another without a byte of them being written")
  func rewrapped() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit(
        (1...6).map {
          submission(queue, $0, storedKey: $0 == 6 ? nil : Self.encrypt($0 == 5 ? 9 : 5, UInt8($0)))
        })
      let directory = ImageKeyDirectory(queue.pool)
      var counts = try await directory.counts()
      #expect(counts.encrypted == [5: 4, 9: 1] && counts.plaintext == 1 && counts.allEncrypted == 5)
      let toast = """
        SELECT md5(string_agg(md5(bytes), '' ORDER BY id)) FROM analysis.image
        """
      let before = try await queue.pool.query(toast).single().string(0)
      let label = Int16(try await period(queue))
      let location = try #require(try await directory.locations().first { $0.period.label == label })
      let page = try await directory.images(notUnder: 9, in: location, after: 0, count: 3)
      #expect(page.map(\.storedKey.keyID) == [5, 5, 5] && page.allSatisfy { $0.userSHA256 == Self.clinic })
      let next = try await directory.images(notUnder: 9, in: location, after: page[2].id, count: 3)
      #expect(next.count == 1)
      let pairs = page.map {
        (record: $0, storedKey: Self.encrypt(9, UInt8(truncatingIfNeeded: $0.id &+ 90)))
      }
      #expect(try await directory.rewrap(pairs, under: 9, in: location) == 3)
      // Whoever comes second with what it read before changes nothing.
      let late = page.map { (record: $0, storedKey: Self.encrypt(11, 3)) }
      #expect(try await directory.rewrap(late, under: 11, in: location) == 0)
      counts = try await directory.counts()
      #expect(counts.encrypted == [5: 1, 9: 4] && counts.plaintext == 1)
      #expect(try await queue.pool.query(toast).single().string(0) == before)
      for pair in pairs {
        let key = try await queue.pool.query(
          "SELECT wrapped_key FROM analysis.image WHERE id = \(pair.record.id)"
        ).single().bytes(0)
        #expect(key == pair.storedKey.wrappedKey)
      }
    }
  }

  @Test("An image that a submit holds is left for later, and nobody waits")
  func held() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit((1...2).map { submission(queue, $0, storedKey: Self.encrypt(5, UInt8($0))) })
      let directory = ImageKeyDirectory(queue.pool)
      let label = Int16(try await period(queue))
      let location = try #require(try await directory.locations().first { $0.period.label == label })
      let page = try await directory.images(notUnder: 9, in: location, after: 0, count: 10)
      try await queue.pool.transaction { transaction in
        _ = try await transaction.query("UPDATE analysis.image SET used_at = now() WHERE id = \(page[0].id)")
        let pairs = page.map { (record: $0, storedKey: Self.encrypt(9, 50)) }
        #expect(try await directory.rewrap(pairs, under: 9, in: location) == 1)
      }
      #expect(try await directory.counts().encrypted == [5: 1, 9: 1])
    }
  }

  private func period(_ queue: QueueFixture) async throws -> Int {
    try await queue.number("SELECT min(period)::int FROM analysis.image")
  }
}
