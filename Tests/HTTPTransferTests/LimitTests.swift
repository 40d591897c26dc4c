import HTTPTransfer
import TestSupport
import Testing

@Suite("The limits of an answer")
struct LimitTests {
  private static let megabyte = [UInt8](repeating: 0x61, count: 1 << 20)

  @Test("let a body of exactly the limit pass, and cut one byte more")
  func exactly() async throws {
    try await withServer { connection in
      while let request = try connection.readRequest() {
        let count = Int(request.target.dropFirst()) ?? 0
        try connection.respond(200, String(repeating: "x", count: count))
      }
    } configure: {
      $0.answerLimit = 1000
    } _: { client, server in
      let whole = try await client.send(Request(.get, server.url + "/1000"), deadline: patience)
      #expect(whole.body.count == 1000)
      let error = try #require(await client.failure(Request(.get, server.url + "/1001")))
      #expect(error.code == .answerTooLarge)
      #expect(error.phase == .receiving)
      #expect(!error.certainlyNotSent)
      #expect(error.answer?.status == 200)
    }
  }

  @Test("cut a body without end, whether chunked or ended by closing", arguments: [true, false])
  func endless(chunked: Bool) async throws {
    try await withServer { connection in
      _ = try connection.readRequest()
      try connection.write("HTTP/1.1 200 OK\r\n\(chunked ? "Transfer-Encoding: chunked\r\n" : "")\r\n")
      while true {  // until writing fails, since the client has gone
        if chunked { try connection.write("100000\r\n") }
        try connection.write(Self.megabyte)
        if chunked { try connection.write("\r\n") }
      }
    } _: { client, server in
      let error = try #require(await client.failure(Request(.get, server.url)))
      #expect(error.code == .answerTooLarge)
    }
  }

  @Test(
    "refuse a compressed answer that nobody asked for",
    arguments: [
      "Content-Encoding: gzip", "Content-Encoding: deflate", "Content-Encoding: br",
      "Content-Encoding: GZIP, gzip", "Transfer-Encoding: gzip", "Transfer-Encoding: gzip, chunked",
    ])
  func compressed(encoding: String) async throws {
    // 50 MB of zeros in 50 kB begin like this; the content does not matter, since none is unpacked.
    try await withServer { connection in
      _ = try connection.readRequest()
      let bomb = [0x1F, 0x8B, 0x08, 0x00] + [UInt8](repeating: 0, count: 50_000)
      try connection.write(
        "HTTP/1.1 200 OK\r\n\(encoding)\r\nContent-Length: \(bomb.count)\r\n\r\n")
      try connection.write(bomb)
      connection.waitForClose()
    } _: { client, server in
      let error = try #require(await client.failure(Request(.get, server.url)))
      #expect(error.code == .answerEncoded)
      #expect(error.answer?.status == 200)
    }
  }

  @Test("take an answer that says it is not compressed")
  func identity() async throws {
    try await withServer { connection in
      _ = try connection.readRequest()
      try connection.respond(200, "plain", headers: ["Content-Encoding: identity"])
    } _: { client, server in
      let response = try await client.send(Request(.get, server.url), deadline: patience)
      #expect(response.body == Array("plain".utf8))
    }
  }

  @Test(
    "refuse a header of 400 kB",
    arguments: ["many lines", "one line", "interim answers", "trailers"])
  func header(shape: String) async throws {
    try await withServer { connection in
      _ = try connection.readRequest()
      switch shape {
      case "many lines":
        let line = "X-Filler: \(String(repeating: "a", count: 990))\r\n"
        try connection.write("HTTP/1.1 200 OK\r\n" + String(repeating: line, count: 400))
      case "one line":
        try connection.write("HTTP/1.1 200 OK\r\nX: " + String(repeating: "a", count: 400_000))
      case "interim answers":
        let interim = "HTTP/1.1 103 Early\r\nLink: \(String(repeating: "a", count: 970))\r\n\r\n"
        try connection.write(String(repeating: interim, count: 400))
      default:
        let line = "X-Filler: \(String(repeating: "a", count: 990))\r\n"
        try connection.write(
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Filler\r\n\r\n0\r\n")
        try connection.write(String(repeating: line, count: 400))
      }
      try connection.write("\r\n\r\n")
      connection.waitForClose()
    } _: { client, server in
      let error = try #require(await client.failure(Request(.get, server.url)))
      #expect(error.code == .headersTooLarge)
    }
  }
}
