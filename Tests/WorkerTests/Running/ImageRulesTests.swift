import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Images
@testable import Queue
@testable import Support
@testable import Worker

@Suite("The rules of images")
struct ImageRulesTests {
  @Test("are those of each job's type: one type keeps a PNG, the other has fewer bytes")
  func eachType() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.set("png_as_is_ear", "yes")
      try await queue.set("image_bytes_throat", "10000")
      let (small, large) = (TinyPicture.png(saying: "Taken by Ada"), TinyPicture.noise(side: 200))
      for kind in ["throat", "ear"] { for image in [small, large] { try await queue.submit(image, kind) } }
      let backend = try Backend()
      #expect(try await Running.drain(queue, backend).completed == 4)
      let throats = try backend.calls.filter { $0.kind == "throat" }.map { try $0.image }
      #expect(throats.count == 2 && throats.allSatisfy { $0.isJPEG && $0.bytes.count <= 10_000 })
      let ears = try backend.calls.filter { $0.kind == "ear" }.map { try $0.image }
      #expect(ears.count == 2 && ears.allSatisfy(\.isPNG))
      #expect(Set(ears.map(\.bytes)) == [TinyPicture.png(), large])
      try await queue.expectSound()
    }
  }

  @Test("say nothing of an image that is stored clean: its first bytes say what it is sent as")
  func storedClean() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let ring = try KeyRing(at: 0)
      let image = TinyPicture.png()
      try await queue.submit(encrypting: image, under: ring)
      try await queue.submit(
        1, kind: .ear, image: .bytes(image, sha256: SHA256.digest(of: image), width: 16, height: 16))
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend) { $0.imageKeys = ImageKeys(ring) { ring } }
      #expect(summary.completed == 2)
      let uploads = try backend.calls.map { try $0.image }
      #expect(uploads.count == 2 && uploads.allSatisfy { $0.isPNG && $0.bytes == image })
    }
  }

  @Test("hold for a worker with nothing but its role, and change while it runs")
  func changed() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await withLoginRole(on: queue.pool, in: ["analysis_worker"]) { login in
        let backend = try Backend()
        let worker = try Running(
          queue.database.login(login).configuration, [.throat: backend.url, .ear: backend.url])
        func uploaded() async throws -> Backend.Call.Image {
          let before = backend.calls.count
          try await queue.submit(TinyPicture.png(), "ear")
          try await eventually("the upload") { backend.calls.count > before }
          return try backend.calls[before].image
        }
        #expect(try await uploaded().isJPEG)
        try await queue.set("png_as_is_ear", "yes")
        // It reads them every few seconds.
        var upload = try await uploaded()
        try await eventually("the new rule") {
          if upload.isJPEG { upload = try await uploaded() }
          return !upload.isJPEG
        }
        #expect(upload.isPNG && upload.bytes == TinyPicture.png())
        worker.stop()
        #expect(try await worker.summary().dead == 0)
        #expect(!worker.log.lines.contains { $0.contains("permission") })
      }
    }
  }
}

extension Backend.Call {
  /// The image's part of an upload.
  fileprivate struct Image {
    let headers: String
    let bytes: [UInt8]

    var isPNG: Bool {
      headers.contains(#"filename="image.png""#) && headers.contains("Content-Type: image/png")
        && bytes.starts(with: [0x89, 0x50, 0x4E, 0x47])
    }
    var isJPEG: Bool {
      headers.contains(#"filename="image.jpg""#) && headers.contains("Content-Type: image/jpeg")
        && bytes.starts(with: [0xFF, 0xD8, 0xFF])
    }
  }

  fileprivate var image: Image {
    get throws {
      let body = request.body
      let name = try #require(body.firstRange(of: Array(#"name="image""#.utf8)))
      let start = try #require(body[name.upperBound...].firstRange(of: Array("\r\n\r\n".utf8)))
      // The boundary's line is the last.
      let end = try #require(body[start.upperBound...].ranges(of: Array("\r\n--".utf8)).last)
      return Image(
        headers: String(decoding: body[name.lowerBound..<start.lowerBound], as: UTF8.self),
        bytes: Array(body[start.upperBound..<end.lowerBound]))
    }
  }
}

extension QueueFixture {
  fileprivate func set(_ setting: String, _ value: String) async throws {
    try await execute("UPDATE analysis.setting SET value = '\(value)' WHERE name = '\(setting)'")
  }

  /// Submits an image by SQL, unsanitized.
  fileprivate func submit(_ image: [UInt8], _ kind: String) async throws {
    let row = try await pool.query(
      "SELECT outcome FROM analysis.submit_image('clinic', $1, $2)", [.text(kind), .bytes(image)]
    ).single()
    try #require(try row.string("outcome") == "created")
  }
}
