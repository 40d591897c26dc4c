import Administration
import AnalysisCore
import EventLoop
import ImageEncryption
import JobQueue
import Logging
import PostgreSQL
import QueueTestSupport
import Synchronization
import System
import TestSupport
import Testing
import Worker

@Suite("Encrypted images")
struct EncryptedImageTests {
  @Test(
    "leave as they were before, small ones and large, beside those in plaintext", arguments: [500, 400_000])
  func sent(bytes: Int) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let ring = try KeyRing(at: 0)
      try await queue.submit(2)
      let images = try await queue.submitEncrypted(3, under: ring, bytes: bytes)
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend) { $0.imageKeys = ImageKeys(ring) }
      #expect(summary.completed == 5 && summary.retried == 0 && summary.dead == 0)
      for image in images {
        #expect(backend.calls.filter { $0.carries(image.plain) }.count == 1)
        #expect(!backend.calls.contains { $0.carries(image.encrypted) })
      }
      try await queue.expectSound()
    }
  }

  @Test("that are unsanitized are cleaned after they are decrypted")
  func unsanitized() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let ring = try KeyRing(at: 0)
      try await queue.submit(encrypting: Photo.withMetadata(), under: ring, unsanitized: true)
      let backend = try Backend()
      #expect(try await Running.drain(queue, backend) { $0.imageKeys = ImageKeys(ring) }.completed == 1)
      let body = try #require(backend.calls.first).body
      #expect(body.contains("JFIF"))
      for secret in Photo.secrets { #expect(!body.contains(secret)) }
    }
  }

  @Test(
    "without their key wait and consume no attempt, told once for each key and with what to do",
    arguments: [true, false])
  func locked(hasFile: Bool) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let (ring, other) = (try KeyRing(at: 0), try KeyRing(at: 0))
      _ = try await queue.submitEncrypted(4, under: ring)
      try await queue.submit(2)
      let backend = try Backend()
      let worker = try Running(queue, [.throat: backend]) {
        $0.imageKeys = hasFile ? ImageKeys(other) : nil
        $0.keyWait = .milliseconds(50)
      }
      try await eventually("attempts to be put off, and the calls for the others") {
        worker.count("images_without_key") >= 12 && backend.calls.count >= 2
      }
      #expect(backend.calls.count == 2)
      worker.stop()
      let summary = try await worker.summary()
      #expect(summary.completed == 2 && summary.dead == 0)
      let told = worker.log.lines.filter { $0.contains("under a key that this worker has not") }
      #expect(told.count == 1 && told[0].contains("\(ring.currentID)"))
      #expect(told[0].contains(hasFile ? "into the worker's key file" : "--key-file"))
      #expect(
        try await queue.number(
          "SELECT count(*)::int FROM analysis.attempt_error WHERE consumed OR class <> 'image'")
          == 0)
      let message = try await queue.pool.query(
        "SELECT message, job_id::text FROM analysis.attempt_error WHERE code = 'image_key_missing' LIMIT 1"
      ).single()
      let words = try message.string(0)
      #expect(words.contains("job \(try message.string(1)) ") && words.contains("key \(ring.currentID)"))
      #expect(
        try await queue.number(
          "SELECT (SELECT count(*) FROM analysis.ready WHERE tries = 0)::int + (SELECT count(*) FROM analysis.scheduled WHERE tries = 0)::int"
        ) == 4)
      try await queue.expectSound()
    }
  }

  @Test("whose key comes into the file later are sent without a restart")
  func keyComes() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let (ring, other) = (try KeyRing(at: 0), try KeyRing(at: 0))
      _ = try await queue.submitEncrypted(3, under: ring)
      let shared = SharedRing(file: other)
      let backend = try Backend()
      let worker = try Running(queue, [.throat: backend]) {
        $0.imageKeys = ImageKeys(other) { shared.ring }
        $0.keyWait = .milliseconds(20)
      }
      try await eventually("a job to be put off") { worker.count("images_without_key") >= 3 }
      shared.ring = ring
      try await eventually("every result") { try await queue.results == 3 }
      worker.stop()
      #expect(try await worker.summary().completed == 3)
      #expect(worker.log.lines.contains { $0.contains("The key file has changed") })
      #expect(backend.calls.count == 3)
      try await queue.expectSound()
    }
  }

  @Test("A drain does not wait for a key that is not there")
  func drained() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      _ = try await queue.submitEncrypted(2, under: try KeyRing(at: 0))
      let summary = try await Running.drain(queue, try Backend(), horizon: .seconds(2)) {
        $0.keyWait = .seconds(10)
      }
      #expect(summary.completed == 0 && summary.dead == 0 && summary.retried == 2)
      #expect(summary.left == ["scheduled for later: 2"])
      try await queue.expectSound()
    }
  }

  /// Changes of an image's row, and the words of the cause.
  static let damages = [
    (
      "bytes = set_byte(bytes, octet_length(bytes) - 1, get_byte(bytes, octet_length(bytes) - 1) # 1)",
      "does not open"
    ),
    ("bytes = set_byte(bytes, 30, get_byte(bytes, 30) # 1)", "does not open"),
    ("wrapped_key = set_byte(wrapped_key, 30, get_byte(wrapped_key, 30) # 1)", "does not open"),
    ("sha256 = set_byte(sha256, 31, get_byte(sha256, 31) # 1)", "does not open"),
    (
      "user_id = (SELECT a.user_id FROM analysis.account a WHERE a.user_ref = 'other')",
      "belongs to another user"
    ),
    ("sha256 = sha256('')", "is not the one that was submitted"),
    ("bytes = 'planted', byte_count = 7, encrypted_by = NULL, wrapped_key = NULL", "does not have the hash"),
    (
      "bytes = 'planted', byte_count = 7, encrypted_by = NULL, wrapped_key = NULL, sha256 = sha256('planted')",
      "is not the one that was submitted"
    ),
  ]

  @Test(
    "that were changed, replaced, or moved to another user, are dead without a call, alone and with their cause",
    arguments: damages)
  func tampered(change: String, cause: String) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.addUser("other")
      let ring = try KeyRing(at: 0)
      _ = try await queue.submitEncrypted(3, under: ring)
      _ = try await queue.pool.query(
        "UPDATE analysis.image SET \(change) WHERE id = (SELECT image_id FROM analysis.job ORDER BY id LIMIT 1)"
      )
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend) { $0.imageKeys = ImageKeys(ring) }
      #expect(summary.completed == 2 && summary.dead == 1 && summary.retried == 0)
      #expect(backend.calls.count == 2)
      let dead = try await queue.pool.query("SELECT class, code, message, job_id::text FROM analysis.dead")
        .single()
      #expect(try dead.string(0) == "image" && dead.string(1) == "image_tampered")
      let message = try dead.string(2)
      #expect(message.contains("Job \(try dead.string(3))") && message.contains(cause), "\(message)")
      #expect(message.contains("submit the image anew") || message.contains("Submit the image anew"))
      if cause == "does not open" { #expect(message.contains("image under key \(ring.currentID)")) }
      try await queue.expectSound()
    }
  }

  @Test(
    "of another user, to which a job was made to point, are not sent: the job is dead, encrypted or not",
    arguments: [true, false])
  func borrowed(isEncrypted: Bool) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.addUser("other")
      let ring = try KeyRing(at: 0)
      if isEncrypted {
        _ = try await queue.submitEncrypted(2, under: ring)
        try await queue.submit(encrypting: [1, 2, 3], under: ring, of: "other")
      } else {
        try await queue.submit(2)
        try await queue.submit(1, user: "other")
      }
      _ = try await queue.pool.query(
        """
        UPDATE analysis.job SET image_id = (SELECT id FROM analysis.image ORDER BY id DESC LIMIT 1)
        WHERE id = (SELECT min(id) FROM analysis.job)
        """)
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend) { $0.imageKeys = ImageKeys(ring) }
      #expect(summary.completed == 2 && summary.dead == 1 && summary.retried == 0)
      #expect(backend.calls.count == 2)
      let dead = try await queue.pool.query(
        "SELECT code, message, job_id = (SELECT min(id) FROM analysis.job) FROM analysis.dead"
      ).single()
      #expect(try dead.string(0) == "image_tampered" && dead.bool(2))
      #expect(try dead.string(1).contains("belongs to another user"))
      try await queue.expectSound()
    }
  }

  @Test("of the same user, with which a job's own was swapped, are not sent", arguments: [true, false])
  func swapped(isEncrypted: Bool) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let ring = try KeyRing(at: 0)
      if isEncrypted {
        _ = try await queue.submitEncrypted(2, under: ring)
      } else {
        try await queue.submit(2)
      }
      _ = try await queue.pool.query("UPDATE analysis.image SET id = -id")
      _ = try await queue.pool.query(
        """
        UPDATE analysis.image i SET id = o.id FROM (
          SELECT min(-id) AS id, max(-id) AS own FROM analysis.image UNION SELECT max(-id), min(-id) FROM analysis.image) o
        WHERE i.id = -o.own
        """)
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend) { $0.imageKeys = ImageKeys(ring) }
      #expect(summary.completed == 0 && summary.dead == 2)
      #expect(backend.calls.isEmpty)
      let causes = try await queue.texts("SELECT code || message FROM analysis.dead")
      #expect(
        causes.allSatisfy {
          $0.contains("image_tampered") && $0.contains("is not the one that was submitted")
        })
    }
  }

  @Test(
    "that were submitted under another picture's hash are not sent, small ones and large",
    arguments: [500, 400_000], [true, false])
  func planted(bytes: Int, isEncrypted: Bool) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let ring = try KeyRing(at: 0)
      let victim = [UInt8](repeating: 1, count: bytes)
      let evil = [UInt8](repeating: 2, count: bytes)
      let sha256 = isEncrypted ? ring.imageHash(of: victim) : SHA256.digest(of: victim)
      let encrypted = try ring.encrypt(evil, ImageBinding(user: "clinic", sha256: sha256))
      let image: SubmittedImage =
        isEncrypted
        ? .bytes(
          encrypted.bytes, sha256: sha256, width: 1, height: 1,
          storedKey: StoredKey(keyID: encrypted.key.keyID.value, wrappedKey: encrypted.key.bytes))
        : .bytes(evil, sha256: sha256, width: 1, height: 1)
      _ = try await queue.submit([Submission(user: "clinic", kind: .throat, image: image)])
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend) { $0.imageKeys = ImageKeys(ring) }
      #expect(summary.dead == 1 && backend.calls.isEmpty)
      let cause = try await queue.text("SELECT code || ' ' || message FROM analysis.dead")
      #expect(cause.contains("image_tampered") && cause.contains("does not have the hash"))
      // The true picture is not blocked by it: it is stored beside it and sent.
      if isEncrypted {
        try await queue.submit(encrypting: victim, under: ring)
      } else {
        _ = try await queue.submit([
          Submission(
            user: "clinic", kind: .throat, image: .bytes(victim, sha256: sha256, width: 1, height: 1))
        ])
      }
      #expect(try await Running.drain(queue, backend) { $0.imageKeys = ImageKeys(ring) }.completed == 1)
      #expect(backend.calls.count == 1 && backend.calls[0].carries(victim))
      try await queue.expectSound()
    }
  }

  @Test("A plaintext picture planted under an encrypted one's hash is not used by who submits that encrypted")
  func plantedFirst() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let ring = try KeyRing(at: 0)
      let victim = [UInt8](repeating: 1, count: 500)
      let plant = Submission(
        user: "clinic", kind: .throat,
        image: .bytes(
          [UInt8](repeating: 2, count: 500), sha256: ring.imageHash(of: victim), width: 1, height: 1))
      _ = try await queue.submit([plant])
      let image = try await queue.submit(encrypting: victim, under: ring)
      // Nor does a plaintext one take the encrypted one's place.
      _ = try await queue.submit([plant])
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend) { $0.imageKeys = ImageKeys(ring) }
      #expect(summary.completed == 2 && summary.dead == 1)
      #expect(backend.calls.count == 2 && backend.calls.allSatisfy { $0.carries(image.plain) })
      try await queue.expectSound()
    }
  }

  @Test("alone are sent where encryption is required: a job with plaintext is dead before a byte leaves")
  func required() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let ring = try KeyRing(at: 0)
      let image = try await queue.submit(encrypting: [1, 2, 3], under: ring)
      try await queue.submit(1)
      _ = try await queue.pool.query(
        "SELECT analysis.submit_image('clinic', 'throat', $1)", [.bytes(Photo.withMetadata())])
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend) {
        $0.imageKeys = ImageKeys(ring)
        $0.requiresEncryption = true
      }
      #expect(summary.completed == 1 && summary.dead == 2 && summary.retried == 0)
      #expect(backend.calls.count == 1 && backend.calls[0].carries(image.plain))
      let causes = try await queue.texts("SELECT class || ' ' || code || ' ' || message FROM analysis.dead")
      #expect(
        causes.allSatisfy {
          $0.hasPrefix("image image_not_encrypted ") && $0.contains("analysisctl submit --key-file")
        })
      try await queue.expectSound()
    }
  }

  @Test("are read on under a newer key while a rotation goes on, by a worker that has both")
  func rotated() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let folder = try TemporaryFolder()
      let path = folder.path("image.keys")
      let old = try KeyFile.addKey(path, at: 0)
      let images = try await queue.submitEncrypted(2, under: old)
      let both = try KeyFile.addKey(path, at: 1)
      let directory = ImageKeyDirectory(queue.pool)
      for location in try await directory.locations() {
        let page = try await directory.images(
          notUnder: both.currentID.value, in: location, after: 0, count: 100)
        let pairs = try page.map { record in
          let key = WrappedKey(keyID: old.currentID, bytes: record.storedKey.wrappedKey)
          let binding = ImageBinding(userSHA256: try #require(record.userSHA256), sha256: record.sha256)
          let new = try both.rewrap(key, binding)
          return (record: record, storedKey: StoredKey(keyID: new.keyID.value, wrappedKey: new.bytes))
        }
        if !pairs.isEmpty {
          #expect(try await directory.rewrap(pairs, under: both.currentID.value, in: location) == 2)
        }
      }
      let backend = try Backend()
      // The worker started before there was a newer key, and looks into the file.
      let summary = try await Running.drain(queue, backend) {
        $0.imageKeys = ImageKeys(old) { () throws(ImageEncryptionError) in try KeyFile.read(path) }
      }
      #expect(summary.completed == 2)
      for image in images { #expect(backend.calls.contains { $0.carries(image.plain) }) }
    }
  }

  @Test("The log tells the keys' numbers at the start, and a worker without keys says nothing of them")
  func told() async throws {
    try await withQueue { queue in
      let ring = try KeyRing(at: 0)
      for keys in [ImageKeys(ring), nil] {
        let worker = try Running(queue, [.throat: try Backend()]) { $0.imageKeys = keys }
        try await eventually("the start") {
          worker.log.lines.contains { $0.contains("The worker runs") }
        }
        worker.stop()
        _ = try await worker.summary()
        let lines = worker.log.lines.filter { $0.contains("Encrypted images") }
        #expect(lines.count == (keys == nil ? 0 : 1))
        #expect(lines.allSatisfy { $0.contains("\(ring.currentID)") })
      }
    }
  }
}

/// A key file of which a test says what is in it.
private final class SharedRing: Sendable {
  private let state: Mutex<KeyRing>

  init(file ring: KeyRing) { state = Mutex(ring) }

  var ring: KeyRing {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}

extension ImageKeys {
  /// Keys of a file that never changes.
  fileprivate init(_ ring: KeyRing) { self.init(ring) { ring } }
}

extension Backend.Call {
  /// Whether some bytes are in the request, one after the other.
  fileprivate func carries(_ bytes: [UInt8]) -> Bool { request.body.contains(bytes) }
}

extension QueueFixture {
  /// An image that was submitted, as it was and as it is stored.
  struct Encrypted {
    let plain: [UInt8]
    let encrypted: [UInt8]
  }

  fileprivate func submitEncrypted(
    _ count: Int, under ring: KeyRing, bytes: Int = 700
  ) async throws -> [Encrypted] {
    var images: [Encrypted] = []
    for number in 1...count {
      images.append(
        try await submit(
          encrypting: (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8 &+ number) }, under: ring
        ))
    }
    return images
  }

  @discardableResult
  func submit(
    encrypting image: [UInt8], under ring: KeyRing, unsanitized: Bool = false, of user: String = "clinic"
  ) async throws -> Encrypted {
    let sha256 = ring.imageHash(of: image)
    let encrypted = try ring.encrypt(image, ImageBinding(user: user, sha256: sha256))
    let storedKey = StoredKey(keyID: encrypted.key.keyID.value, wrappedKey: encrypted.key.bytes)
    let outcomes = try await Submitter(pool).submit([
      Submission(
        user: user, kind: .throat,
        image: .bytes(
          encrypted.bytes, sha256: sha256, width: 64, height: 48, unsanitized: unsanitized,
          storedKey: storedKey))
    ])
    try #require(outcomes.allSatisfy { $0.job != nil }, "\(outcomes)")
    return Encrypted(plain: image, encrypted: encrypted.bytes)
  }
}
