import HTTPTransfer
import Synchronization
import TestSupport
import Testing

@Suite("A request")
struct RequestTests {
  @Test(
    "goes out with its method and body, and nothing that libcurl would add by itself",
    arguments: [Method.get, .post, .put, .delete])
  func methods(method: Method) async throws {
    let seen = Mutex<RawConnection.Received?>(nil)
    try await withServer { connection in
      let request = try connection.readRequest()
      seen.withLock { $0 = request }
      try connection.respond(200, "ok")
    } _: { client, server in
      let body: Body =
        method == .get || method == .delete
        ? .none : .bytes(Array("{}".utf8), contentType: "application/json")
      let response = try await client.send(
        Request(method, server.url + "/path?x=1", headers: ["X-Test": "a b", "X-Empty": ""], body: body),
        deadline: patience)
      #expect(response.status == 200)
      #expect(response.body == Array("ok".utf8))
    }
    let request = try #require(seen.withLock { $0 })
    #expect(request.method == method.name)
    #expect(request.target == "/path?x=1")
    #expect(request.headers["x-test"] == "a b")
    #expect(request.headers["x-empty"] == "")
    #expect(request.headers["user-agent"] == "analysis-queue")
    #expect(request.headers["expect"] == nil)
    #expect(request.headers["accept-encoding"] == "identity")
    if method == .post || method == .put {
      #expect(request.body == Array("{}".utf8))
      #expect(request.headers["content-type"] == "application/json")
    } else {
      #expect(request.headers["content-type"] == nil)
      #expect(request.headers["content-length"] == nil)
    }
  }

  @Test("for a header only gets the header, although a length is announced")
  func head() async throws {
    try await withServer { connection in
      _ = try connection.readRequest()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
      connection.waitForClose()
    } _: { client, server in
      let response = try await client.send(Request(.head, server.url), deadline: patience)
      #expect(response.body.isEmpty)
      #expect(response.headers["content-length"] == "5000")
    }
  }

  @Test("of one kind leaves nothing behind for the next on the same handle")
  func handlesAreReused() async throws {
    try await withServer { connection in
      while let request = try connection.readRequest() {
        try connection.respond(
          200, "\(request.method) \(request.headers["x-own"] ?? "-") \(request.body.count)")
      }
    } _: { client, server in
      let requests = [
        Request(.put, server.url, headers: ["X-Own": "1"], body: .bytes([1, 2, 3], contentType: "a/b")),
        Request(.get, server.url), Request(.delete, server.url),
        Request(.post, server.url, body: .bytes([], contentType: "a/b")), Request(.get, server.url),
      ]
      var answers: [String] = []
      for request in requests {
        let response = try await client.send(request, deadline: patience)
        #expect(response.connectionReused == !answers.isEmpty)
        answers.append(String(decoding: response.body, as: UTF8.self))
      }
      #expect(answers == ["PUT 1 3", "GET - 0", "DELETE - 0", "POST - 0", "GET - 0"])
      #expect(server.connectionCount == 1)
    }
  }

  @Test("that starts a second request in a header is refused before anything is sent")
  func smuggling() async throws {
    let requests = [
      Request(.get, "http://127.0.0.1:1", headers: ["X": "a\r\nX-Admin: 1"]),
      Request(.get, "http://127.0.0.1:1", headers: ["X: 1\r\nY": "a"]),
      Request(.get, "http://127.0.0.1:1", headers: ["": "a"]),
      Request(.get, "http://127.0.0.1:1", headers: ["X": "a\0b"]),
      Request(.get, "http://127.0.0.1:1", headers: ["Content-Length": "5"]),
      Request(.get, "http://127.0.0.1:1", headers: ["transfer-encoding": "chunked"]),
      Request(.get, "http://127.0.0.1:1", headers: ["Accept-Encoding": "gzip"]),
      Request(.get, "http://127.0.0.1:1/\r\nX: 1"),
      Request(.post, "http://127.0.0.1:1", body: .bytes([], contentType: "a\r\nb")),
      Request(.post, "http://127.0.0.1:1", body: .multipart(Multipart())),
    ]
    try await withClient { client in
      for request in requests {
        let error = try #require(await client.failure(request))
        #expect(error.code == .invalidRequest)
        #expect(error.certainlyNotSent)
      }
    }
  }

  @Test("is described without its query, which may hold a secret")
  func description() {
    let request = Request(.get, "https://host/path?token=secret", headers: ["Authorization": "Bearer secret"])
    #expect(request.description == "GET https://host/path")
  }
}
