import Foundation
import HTTPTransfer
import Synchronization
import TestSupport
import Testing

@Suite("A form, read by parsers that are not ours")
struct MultipartTests {
  /// A part as a parser in `scripts/lib/peers` found it.
  private struct Part: Decodable, Equatable {
    var name: String
    var filename: String?
    var contentType: String?
    var length: Int
    var sha256: String
  }

  private struct Sent: Sendable {
    let contentType: String
    let body: [UInt8]
  }

  /// Sends a form to a raw server and returns what arrived.
  private func send(_ form: Multipart) async throws -> Sent {
    let seen = Mutex<RawConnection.Received?>(nil)
    try await withServer { connection in
      let request = try connection.readRequest()
      seen.withLock { $0 = request }
      try connection.respond(200)
    } _: { client, server in
      _ = try await client.send(Request(.post, server.url, body: .multipart(form)), deadline: patience)
    }
    let request = try #require(seen.withLock { $0 })
    return Sent(contentType: try #require(request.headers["content-type"]), body: request.body)
  }

  private func parse(_ sent: Sent, by parser: String, python: String) async throws -> [Part] {
    let result = try await HelperProgram.run(
      python, [packagePath("scripts/lib/peers/parse-multipart.py"), parser, sent.contentType],
      input: sent.body)
    try #require(result.status == 0, "\(result.errors)")
    return try JSONDecoder().decode([Part].self, from: Data(result.output))
  }

  private static let python = "/usr/bin/python3"
  private static let otherPython = ProcessInfo.processInfo.environment["ANALYSIS_PYTHON"]

  /// Every byte value, every pair of line ends, and what looks like a boundary.
  private static let image: [UInt8] =
    (0..<150_000).map { UInt8(truncatingIfNeeded: $0 &* $0 &+ $0 >> 8) } + Array("\r\n--\r\n\r\n--form-".utf8)

  private static func upload(fileName: String = "image.jpg") -> Multipart {
    var form = Multipart()
    form.addText("type", "throat")
    form.addFile("image", fileName: fileName, contentType: "image/jpeg", image)
    return form
  }

  private func checkUpload(_ parts: [Part], fileName: String) throws {
    try #require(parts.count == 2)
    #expect(parts[0].name == "type")
    #expect(parts[0].filename == nil)
    #expect(parts[0].contentType == nil)
    #expect(parts[0].length == 6)
    #expect(parts[1].name == "image")
    #expect(parts[1].filename == fileName)
    #expect(parts[1].contentType == "image/jpeg")
    #expect(parts[1].length == Self.image.count)
  }

  @Test(
    "is what Python's email reads",
    .enabled(if: HelperProgram.find("/usr/bin/python3") != nil, "needs /usr/bin/python3"))
  func email() async throws {
    let sent = try await send(Self.upload())
    try checkUpload(try await parse(sent, by: "email", python: Self.python), fileName: "image.jpg")
  }

  @Test(
    "is what python-multipart reads",
    .enabled(if: otherPython != nil, "needs ANALYSIS_PYTHON, a Python with python-multipart"))
  func pythonMultipart() async throws {
    let python = try #require(Self.otherPython)
    let sent = try await send(Self.upload())
    try checkUpload(try await parse(sent, by: "python-multipart", python: python), fileName: "image.jpg")
  }

  @Test(
    "keeps names with quotes and line ends inside their quotes",
    .enabled(if: HelperProgram.find("/usr/bin/python3") != nil, "needs /usr/bin/python3"))
  func escaping() async throws {
    let sent = try await send(Self.upload(fileName: "a\"; name=\"b\r\nX-Evil: 1.jpg"))
    let parts = try await parse(sent, by: "email", python: Self.python)
    try checkUpload(parts, fileName: "a%22; name=%22b%0D%0AX-Evil: 1.jpg")
  }

  @Test(
    "carries each byte of its parts, empty ones too",
    .enabled(if: HelperProgram.find("/usr/bin/python3") != nil, "needs /usr/bin/python3"))
  func bytes() async throws {
    var form = Multipart()
    form.addFile("empty", fileName: "e", contentType: "image/png", [UInt8]())
    form.addText("note", "")
    form.addFile("text", fileName: "t", contentType: "text/plain", Array("abc".utf8))
    form.addText("after", "ü\r\n\r\n")
    let sent = try await send(form)
    for parser in ["email", "python-multipart"] {
      guard let python = parser == "email" ? Self.python : Self.otherPython else { continue }
      let parts = try await parse(sent, by: parser, python: python)
      #expect(parts.map(\.name) == ["empty", "note", "text", "after"])
      #expect(parts.map(\.length) == [0, 0, 3, 6])
      // SHA-256 of "" and of "abc", from FIPS 180-4's examples.
      #expect(parts[0].sha256 == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
      #expect(parts[2].sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }
  }

  @Test("arrives byte for byte, as the standard writes it")
  func exact() async throws {
    var form = Multipart(boundary: "line")
    form.addText("type", "ear")
    form.addFile("image", fileName: "image.jpg", contentType: "image/jpeg", Array("JPEG".utf8))
    let sent = try await send(form)
    #expect(sent.contentType == "multipart/form-data; boundary=line")
    let expected =
      "--line\r\nContent-Disposition: form-data; name=\"type\"\r\n\r\near\r\n"
      + "--line\r\nContent-Disposition: form-data; name=\"image\"; filename=\"image.jpg\"\r\n"
      + "Content-Type: image/jpeg\r\n\r\nJPEG\r\n--line--\r\n"
    #expect(String(decoding: sent.body, as: UTF8.self) == expected)
  }

  @Test("has the boundary that was drawn for the process, and another one where a field holds that")
  func boundaries() async throws {
    var form = Multipart()
    form.addText("a", "b")
    let usual = try await send(form).contentType
    #expect(try await send(form).contentType == usual)
    form.addText("c", try #require(usual.split(separator: "=").last.map(String.init)))
    let other = try await send(form).contentType
    #expect(other.hasPrefix("multipart/form-data; boundary=form-") && other != usual)
  }

  @Test(
    "is refused when its boundary is malformed or lies in a part", arguments: ["", "a b", "x\r\n", "taken"])
  func refused(boundary: String) async throws {
    var form = Multipart(boundary: boundary)
    form.addFile("image", fileName: "i", contentType: "image/jpeg", Array("before\r\n--taken--".utf8))
    let refused = form
    try await withClient { client in
      let error = try #require(
        await client.failure(Request(.post, "http://127.0.0.1:1/", body: .multipart(refused))))
      #expect(error.code == .invalidRequest)
    }
  }
}
