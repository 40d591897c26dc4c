import EventLoop
import PostgreSQL
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@testable import Control
@testable import Images
@testable import Queue
@testable import Support
@testable import Worker

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
        $0.keyWait = .seconds(3600)
      }
      #expect(summary.completed == 0 && summary.dead == 0 && summary.retried == 2)
      #expect(summary.left == ["scheduled for later: 2"])
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
  init(_ ring: KeyRing) { self.init(ring) { ring } }
}

extension Backend.Call {
  /// Whether some bytes are in the request, one after the other.
  func carries(_ bytes: [UInt8]) -> Bool { request.body.contains(bytes) }
}

extension QueueFixture {
  /// An image that was submitted, as it was and as it is stored.
  struct Encrypted {
    let plain: [UInt8]
    let encrypted: [UInt8]
  }

  func submitEncrypted(
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
