import HTTPTransfer
import TestSupport
import Testing

@Suite("An answer")
struct AnswerTests {
  @Test("gives its headers by name without regard to case, the last one first asked for")
  func headers() async throws {
    try await withServer { connection in
      _ = try connection.readRequest()
      try connection.write("HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n")
      try connection.respond(
        503,
        headers: ["Retry-After: 1", "RETRY-AFTER:  120  ", "X-Folded: a", "\tb", "X-Odd:"])
      connection.waitForClose()
    } _: { client, server in
      let response = try await client.send(Request(.get, server.url), deadline: patience)
      #expect(response.status == 503)
      #expect(response.headers["retry-after"] == "120")
      #expect(response.headers.all("Retry-After") == ["1", "120"])
      #expect(response.headers["x-interim"] == nil)
      #expect(response.headers["x-folded"] == "a b")
      #expect(response.headers["x-odd"] == "")
      #expect(response.head.version == .http1)
      #expect(response.timing.total > .zero)
      #expect(response.sentBytes > 0)
    }
  }

  @Test(
    "that is cut is no answer",
    arguments: [
      "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\"",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"id\"\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n{\"id\"",
    ])
  func truncated(answer: String) async throws {
    try await withServer { connection in
      _ = try connection.readRequest()
      try connection.write(answer)
    } _: { client, server in
      let error = try #require(await client.failure(Request(.get, server.url)))
      #expect(error.code == .answerTruncated)
      #expect(error.phase == .receiving)
      #expect(error.answer?.status == 200)
      #expect(!error.certainlyNotSent)
    }
  }

  @Test(
    "that is not HTTP is no answer",
    arguments: [
      "hello\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "SSH-2.0-OpenSSH\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "HTTP/1.1 200 OK\r\nNot a field\r\n\r\n",
    ])
  func garbage(answer: String) async throws {
    try await withServer { connection in
      _ = try connection.readRequest()
      try connection.write(answer)
    } _: { client, server in
      let error = try #require(await client.failure(Request(.get, server.url)))
      #expect([.protocolViolation, .receiveFailed, .connectionReset, .answerTruncated].contains(error.code))
      #expect(!error.certainlyNotSent)
    }
  }

  @Test(
    "that never begins, by an orderly end or a reset, leaves the outcome unknown", arguments: [false, true])
  func none(reset: Bool) async throws {
    try await withServer { connection in
      _ = try connection.readRequest()
      if reset { connection.reset() }
    } _: { client, server in
      let error = try #require(
        await client.failure(Request(.post, server.url, body: .bytes([1, 2, 3], contentType: "a/b"))))
      #expect(error.code == .connectionReset)
      #expect(!error.certainlyNotSent)
      #expect(error.answer == nil)
    }
  }

  @Test("that comes before the upload is over ends the upload")
  func early() async throws {
    let image = [UInt8](repeating: 7, count: 20 << 20)
    try await withServer { connection in
      _ = try connection.readHead()
      try connection.respond(413, "too large", headers: ["Connection: close"])
      connection.waitForClose()
    } _: { client, server in
      let response = try await client.send(
        Request(.post, server.url, body: .bytes(image, contentType: "image/jpeg")), deadline: patience)
      #expect(response.status == 413)
      #expect(response.body == Array("too large".utf8))
      #expect(response.sentBytes < image.count)
    }
  }

  @Test("that comes before the upload is over and is followed by a reset is an answer or an unknown outcome")
  func earlyReset() async throws {
    let image = [UInt8](repeating: 7, count: 20 << 20)
    try await withServer { connection in
      _ = try connection.readHead()
      try connection.respond(413, "too large")
      connection.reset()
    } _: { client, server in
      for _ in 0..<10 {
        let request = Request(.post, server.url, body: .bytes(image, contentType: "image/jpeg"))
        switch await client.outcome(request) {
        case .success(let response): #expect(response.status == 413)
        case .failure(let error):
          #expect([.connectionReset, .sendFailed, .answerTruncated, .receiveFailed].contains(error.code))
          #expect(!error.certainlyNotSent)
        }
      }
    }
  }
}
