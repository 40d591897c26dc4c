import Cturbojpeg
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Images
@testable import Queue
@testable import Support
@testable import Worker

@Suite("Hostile images that came in by SQL")
struct HostileImageTests {
  @Test("that end their decoder are dead with the reason, and the other jobs go on")
  func hostile() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let (costly, sound) = (try Photo.costly(), try Photo.withMetadata())
      for image in [costly, sound, costly, sound] {
        _ = try await queue.pool.query(
          "SELECT * FROM analysis.submit_image('clinic', 'throat', $1)", [.bytes(image)])
      }
      try await queue.submit(3)
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend) {
        $0.imageDecoders = ImageDecoders(slots: 2, arguments: ["--cpu-seconds", "0"])
      }
      #expect(summary.completed == 5 && summary.dead == 2 && summary.calls == 5 && summary.retried == 0)
      #expect(
        try await queue.text("SELECT string_agg(DISTINCT class || ' ' || code, ',') FROM analysis.dead")
          == "image image_refused")
      #expect(
        try await queue.text("SELECT min(message) FROM analysis.dead").hasPrefix(
          "decoder_failed: The picture"))
      try await queue.expectSound()
    }
  }

  @Test("that no decoder can be started for wait and consume no attempt; the other jobs go on")
  func noDecoder() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      _ = try await queue.pool.query(
        "SELECT * FROM analysis.submit_image('clinic', 'throat', $1)", [.bytes(Photo.withMetadata())])
      try await queue.submit(2)
      let backend = try Backend()
      let worker = try Running(queue, [.throat: backend]) {
        $0.imageDecoders = ImageDecoders(program: "/nonexistent/image-decoder")
        $0.keyWait = .milliseconds(50)
      }
      try await eventually("attempts to be put off, and the calls for the others") {
        try await queue.number("SELECT count(*)::int FROM analysis.attempt_error") >= 3
          && backend.calls.count >= 2
      }
      worker.stop()
      let summary = try await worker.summary()
      #expect(summary.completed == 2 && summary.dead == 0 && summary.calls == 2)
      #expect(
        try await queue.number(
          "SELECT count(*)::int FROM analysis.attempt_error WHERE consumed OR code <> 'image_decoder_missing'"
        )
          == 0)
      #expect(
        try await queue.text("SELECT min(message) FROM analysis.attempt_error").hasPrefix(
          "/nonexistent/image-decoder cannot be started"))
      #expect(worker.log.lines.count { $0.contains("cannot be decoded") } == 1)
      try await queue.expectSound()
    }
  }

  @Test("that are being decoded when the worker is to stop at once go back to the queue")
  func stopped() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      _ = try await queue.pool.query(
        "SELECT * FROM analysis.submit_image('clinic', 'throat', $1)", [.bytes(Photo.costly())])
      let backend = try Backend()
      let worker = try Running(queue, [.throat: backend]) {
        $0.imageDecoders = ImageDecoders(slots: 1, arguments: ["--cpu-seconds", "9903"])
      }
      try await eventually("the job to be held and read") { worker.gauge("calls_in_flight") == 1 }
      worker.cancel()
      let summary = try await worker.summary()
      #expect(summary.released == 1 && summary.dead == 0 && summary.calls == 0)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.ready WHERE tries = 0") == 1)
      try await queue.expectSound()
    }
  }
}

extension Photo {
  /// A JPEG of 49 megapixels of noise that lies on its side and is not whole blocks, so that it is decoded and encoded
  /// anew, several times until it fits: that takes seconds.
  static func costly() throws -> [UInt8] {
    let side = 6999
    guard let encoder = tjInitCompress() else { throw NotDrawn() }
    defer { tjDestroy(encoder) }
    var bytes: UnsafeMutablePointer<UInt8>?
    var count: UInt = 0
    // The same noise again and again.
    let noise = (0..<10_007).map { _ in UInt8.random(in: 0...255) }
    var grey: [UInt8] = []
    grey.reserveCapacity(side * side + noise.count)
    while grey.count < side * side { grey += noise }
    guard
      tjCompress2(
        encoder, grey, Int32(side), 0, Int32(side), Int32(TJPF_GRAY.rawValue), &bytes, &count,
        Int32(TJSAMP_GRAY.rawValue), 5, 0) == 0, let bytes
    else { throw NotDrawn() }
    defer { tjFree(bytes) }
    let file = UnsafeBufferPointer(start: bytes, count: Int(count))
    let exif =
      Array("Exif\0\0II*\0\u{8}\0\0\0\u{1}\0\u{12}\u{1}\u{3}\0\u{1}\0\0\0".utf8) + [6, 0, 0, 0, 0, 0, 0, 0]
    return file.prefix(2) + [0xFF, 0xE1, 0, UInt8(exif.count + 2)] + exif + file.dropFirst(2)
  }
}
