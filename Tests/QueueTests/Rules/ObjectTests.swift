import PostgreSQL
import QueueTestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("An image that is an object")
struct ObjectTests {
  private func with(
    _ store: String = "s3", _ body: (QueueFixture, _ prefix: String) async throws -> Void
  ) async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser()
      try await queue.execute("UPDATE analysis.setting SET value = '\(store)' WHERE name = 'image_store'")
      try await body(queue, queue.text("SELECT o_prefix FROM analysis.image_store()"))
    }
  }

  private func item(
    _ number: Int, _ prefix: String, key: String? = nil, isEncrypted: Bool = true, object: String? = nil
  ) -> Submission {
    let name = object ?? "\(prefix)202101/ab/\(Hexadecimal.text(of: QueueFixture.hash(number).prefix(16)))"
    return Submission(
      user: "clinic", kind: .throat,
      image: .object(
        ImageObject(key: name, byteCount: 700), sha256: QueueFixture.hash(number), width: 64, height: 48,
        storedKey: isEncrypted ? StoredKey(keyID: 5, wrappedKey: Array(repeating: 7, count: 72)) : nil),
      key: key)
  }

  @Test("is a row without bytes, with the object's key and length, beside those with bytes of the same call")
  func stored() async throws {
    try await with { queue, prefix in
      let outcomes = try await queue.submit([
        item(1, prefix), queue.submission("clinic", 2), item(3, prefix, key: "k"),
      ])
      #expect(outcomes.allSatisfy { if case .created = $0 { true } else { false } }, "\(outcomes)")
      #expect(
        try await queue.texts(
          "SELECT concat_ws(' ', byte_count, octet_length(bytes), object_key IS NOT NULL) FROM analysis.image ORDER BY 1"
        ) == ["500 500 f", "700 t", "700 t"])
      #expect(try await queue.numbers("SELECT image_bytes FROM analysis.job ORDER BY 1") == [500, 700, 700])
    }
  }

  @Test("of a submit that is repeated or refused is noted as lost, but not one that an image names")
  func lost() async throws {
    try await with { queue, prefix in
      let first = item(1, prefix, key: "k")
      #expect(try await queue.submit([first]).allSatisfy { $0.job != nil })
      // The answer was lost: the same call once more. Then a repeat that wrote the object anew.
      let (again, anew) = (
        first, item(1, prefix, key: "k", object: "\(prefix)202101/ab/\(String(repeating: "0", count: 32))")
      )
      for repeated in [again, anew] {
        let outcomes = try await queue.submit([repeated])
        guard case .duplicate? = outcomes.first else {
          Issue.record("\(outcomes)")
          continue
        }
      }
      var unknown = item(2, prefix)
      unknown.user = "nobody"
      #expect(try await queue.submit([unknown]).first?.job == nil)
      #expect(try await queue.count("lost_object") == 2)
      #expect(
        try await queue.texts("SELECT o FROM analysis.lost_objects('{}', '', 10) o").contains(
          "\(prefix)202101/ab/\(String(repeating: "0", count: 32))"))
    }
  }

  @Test("in plaintext is refused, unless the setting says so", arguments: ["s3", "s3-plaintext"])
  func plaintext(store: String) async throws {
    try await with(store) { queue, prefix in
      let outcomes = try await queue.submit([item(1, prefix, isEncrypted: false)])
      guard case .refused(let refusal)? = outcomes.first else {
        #expect(store == "s3-plaintext")
        return
      }
      #expect(store == "s3" && refusal.code.hasPrefix("plaintext_refused"))
    }
  }

  @Test("has a key of this installation, and a length that an image can have")
  func malformed() async throws {
    try await with { queue, prefix in
      for object in [
        "", "x", "../\(prefix)202101/ab/x", "\(prefix)202101/ab/../../x", "\(prefix)202101/ab/\u{e9}",
      ] {
        let error = await #expect(throws: JobQueueError.self) {
          try await queue.submit([item(1, prefix, object: object)])
        }
        #expect((error?.underlying as? PostgreSQLError)?.sqlState == "22023", "\(object)")
      }
      for bytes in [0, -1, 40, 2_000_000_000] {
        var asked = item(2, prefix)
        guard case .object(let object, let sha256, _, _, let key) = asked.image else { continue }
        asked.image = .object(
          ImageObject(key: object.key, byteCount: bytes), sha256: sha256, width: 1, height: 1, storedKey: key)
        guard case .refused(let refusal)? = try await queue.submit([asked]).first else {
          Issue.record("\(bytes) bytes were taken")
          continue
        }
        #expect(refusal.code == "bad_argument")
      }
      #expect(try await queue.count("image") == 0)
    }
  }

  /// A back-end's submit of an object; what it says.
  private func submit(
    _ queue: QueueFixture, _ user: String = "clinic", object: String, number: Int, key: String? = nil,
    isEncrypted: Bool = true
  ) async throws -> String {
    try await queue.text(
      """
      SELECT concat_ws(' ', outcome, reason) FROM analysis.submit_object(
        $1, 'throat', $2, $3, 700, $4, p_encrypted_by => $5, p_wrapped_key => $6)
      """,
      [
        .text(user), .text(object), .bytes(QueueFixture.hash(number)), .text(key),
        .int64(isEncrypted ? 5 : nil), .bytes(isEncrypted ? Array(repeating: 7, count: 72) : nil),
      ])
  }

  @Test("is submitted by a back-end that has written it, once, and a repeat is the same job")
  func byBackEnd() async throws {
    try await with { queue, prefix in
      try await queue.addUser("other")
      let key = "\(prefix)202101/ab/\(String(repeating: "0", count: 32))"
      #expect(try await submit(queue, object: key, number: 1, key: "k") == "created")
      #expect(try await submit(queue, object: key, number: 1, key: "k") == "duplicate")
      #expect(
        try await queue.texts(
          "SELECT concat_ws(' ', byte_count, encrypted_by, unsanitized, object_key) FROM analysis.image")
          == ["700 5 t \(key)"])
      // Neither as another user's nor as another picture.
      #expect(try await submit(queue, "other", object: key, number: 1) == "refused object_taken")
      #expect(try await submit(queue, object: key, number: 2) == "refused object_taken")
      #expect(try await queue.count("lost_object") == 0)
    }
  }

  @Test("of a back-end that is refused is to be removed, and is not submitted again")
  func refusedOfBackEnd() async throws {
    try await with { queue, prefix in
      let key = "\(prefix)202101/ab/\(String(repeating: "0", count: 32))"
      #expect(
        try await submit(queue, object: key, number: 1, isEncrypted: false).hasPrefix(
          "refused plaintext_refused:"))
      #expect(try await queue.texts("SELECT o FROM analysis.lost_objects('{}', '', 10) o") == [key])
      #expect(try await submit(queue, object: key, number: 1) == "refused object_taken")
      for object in ["", "\(prefix)202101/ab/x", "other/202101/ab/\(String(repeating: "0", count: 32))"] {
        let said = try await submit(queue, object: object, number: 1)
        #expect(said.hasPrefix("refused bad_argument: p_object is \(prefix)"), "\(said)")
      }
      try await queue.execute("UPDATE analysis.setting SET value = 'database' WHERE name = 'image_store'")
      #expect(
        try await submit(queue, object: "\(prefix)202101/ab/\(String(repeating: "1", count: 32))", number: 1)
          .hasPrefix("refused objects_refused: the setting image_store is database"))
      #expect(try await queue.count("job") == 0)
    }
  }

  @Test("is lost with its image, when its person is erased or its time is over; gone ones are forgotten")
  func removed() async throws {
    try await with { queue, prefix in
      #expect(try await queue.submit([item(1, prefix), item(2, prefix)]).allSatisfy { $0.job != nil })
      let keys = try await queue.texts("SELECT object_key FROM analysis.image ORDER BY 1")
      #expect(
        try await queue.texts("SELECT u FROM analysis.unnamed_objects($1) u", [.array(keys + ["x"])]) == ["x"]
      )
      _ = try await queue.pool.query(
        "SELECT FROM analysis.cancel(0::smallint, ARRAY(SELECT id FROM analysis.job ORDER BY id LIMIT 1))")
      _ = try await queue.pool.query(
        """
        SELECT FROM analysis.purge_images(
          0::smallint, (SELECT period FROM analysis.image LIMIT 1), 0, 100, now() + interval '60 days', false, true)
        """)
      #expect(try await queue.count("image") == 1)
      #expect(try await queue.count("lost_object") == 1)
      _ = try await queue.pool.query("SELECT FROM analysis.erase_user(0::smallint, 'clinic', NULL, true)")
      #expect(try await queue.count("image") == 0)
      #expect(try await queue.texts("SELECT o FROM analysis.lost_objects('{}', '', 10) o") == keys)
      #expect(
        try await queue.texts(
          "SELECT o FROM analysis.lost_objects($1, $2, 10) o", [.array([keys[0]]), .text(keys[0])]) == [
            keys[1]
          ])
      #expect(try await queue.texts("SELECT object_key FROM analysis.lost_object") == [keys[1]])
    }
  }

  @Test(
    "is compared with a list of objects: without its object, with one of another length, and objects of none")
  func compared() async throws {
    try await with { queue, prefix in
      #expect(try await queue.submit((1...4).map { item($0, prefix) }).allSatisfy { $0.job != nil })
      let keys = try await queue.texts(
        "SELECT object_key FROM analysis.image ORDER BY object_key COLLATE \"C\"")
      func compared(_ after: String, _ upTo: String?, _ found: [String], _ bytes: [Int32]) async throws
        -> [String]
      {
        try await queue.texts(
          """
          SELECT concat_ws(' ', o_trouble, o_object, o_image IS NOT NULL, o_count)
          FROM analysis.objects_compared($1, $2, $3, $4, 1)
          """, [.text(after), .text(upTo), .array(found), .array(bytes)])
      }
      #expect(try await compared("", nil, keys, [700, 700, 700, 700]) == [])
      #expect(
        try await compared("", nil, [keys[0], "\(prefix)x"], [701, 5]) == [
          "changed \(keys[0]) t 1", "missing \(keys[1]) t 3", "unnamed \(prefix)x f 1",
        ])
      // A page of the list says nothing of what is before or behind it.
      #expect(try await compared(keys[0], keys[2], [keys[2]], [700]) == ["missing \(keys[1]) t 1"])
    }
  }

  @Test("A list of objects is read as S3 writes it")
  func listing() {
    let list = ObjectListing(
      Array(
        """
        <?xml version="1.0"?><ListBucketResult xmlns="http://s3"><IsTruncated>true</IsTruncated>
        <Contents><Key>a&amp;lt;b</Key><Size>5</Size></Contents><Contents><Key>c</Key><Owner><ID>1</ID></Owner></Contents>
        <NextContinuationToken>t&quot;</NextContinuationToken></ListBucketResult>
        """.utf8))
    #expect(list["IsTruncated"] == "true" && list["NextContinuationToken"] == "t\"" && list["Absent"] == nil)
    #expect(list.entries(named: ["Contents"]).map { $0["Key"] } == ["a&lt;b", "c"])
    #expect(list.entries(named: ["Contents"]).map { $0["Size"] } == ["5", nil])
  }
}
