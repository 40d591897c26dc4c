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

@Suite("Images that were changed, swapped or planted")
struct TamperedImageTests {
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
    "that were submitted in plaintext under another picture's hash are not sent, small ones and large",
    arguments: [500, 400_000])
  func planted(bytes: Int) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let victim = [UInt8](repeating: 1, count: bytes)
      let evil = [UInt8](repeating: 2, count: bytes)
      let sha256 = SHA256.digest(of: victim)
      func submit(_ bytes: [UInt8]) async throws {
        _ = try await queue.submit([
          Submission(
            user: "clinic", kind: .throat, image: .bytes(bytes, sha256: sha256, width: 1, height: 1))
        ])
      }
      try await submit(evil)
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend)
      #expect(summary.dead == 1 && backend.calls.isEmpty)
      let cause = try await queue.text("SELECT code || ' ' || message FROM analysis.dead")
      #expect(cause.contains("image_tampered") && cause.contains("does not have the hash"))
      // The true picture is not blocked by it: it is stored beside it and sent.
      try await submit(victim)
      #expect(try await Running.drain(queue, backend).completed == 1)
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
}
