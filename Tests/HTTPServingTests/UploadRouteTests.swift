import HTTPTestSupport
import Synchronization
import TestSupport
import Testing

@testable import HTTPServing

@Suite("A server that files are sent to, within bounds", .onOwnThread)
struct UploadRouteTests {
  private static let form = UploadForm(file: "image", field: "type", fileLimit: 300_000)
  private static let type = ["Content-Type": "multipart/form-data; boundary=b", "Token": "known"]

  private func body(_ count: Int) -> [UInt8] {
    Array("--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a\"\r\n\r\n".utf8)
      + [UInt8](repeating: 65, count: count) + Array("\r\n--b--\r\n".utf8)
  }

  /// Serves a route that answers how many bytes came, to those who show a token.
  private func withServer(
    _ change: (inout HTTPServer.Bounds) -> Void = { _ in },
    keeping: KeptThings? = nil,
    making answer: @escaping @Sendable (HTTPUpload?) async -> HTTPAnswer = { upload in
      .text(200, "\(upload?.fileCount ?? -1) \(upload?.takeFile().count ?? -1)")
    },
    _ body: (HTTPServer, _ admitted: @Sendable () -> Int) async throws -> Void
  ) async throws {
    var bounds = HTTPServer.Bounds.patient
    change(&bounds)
    let admitted = Mutex(0)
    let server = try HTTPServer(
      ListenAddress(host: "127.0.0.1", port: 0),
      [
        HTTPRoute(
          upload: Self.form, to: "/upload",
          admit: { request in
            admitted.withLock { $0 += 1 }
            if let keeping { request.keepWithFile(KeptThings.One(keeping)) }
            return request.headers["token"] == "known" ? nil : .text(401, "Who is there?")
          }, { await answer($0.upload) }),
        HTTPRoute(.delete, "/things/*") { .text(200, "deleted \($0.parameters[0])") },
        HTTPRoute(.post, "/bytes", bodyUpTo: 100) { .text(200, "\($0.body.count)") },
        HTTPRoute(
          .post, "/letters", bodyUpTo: 64 << 10,
          admit: { request in
            admitted.withLock { $0 += 1 }
            if request.headers["token"] == "slow" { try? await Task.sleep(for: .milliseconds(20)) }
            return request.headers["token"] == nil ? .text(401, "Who is there?") : nil
          }, { .text(200, "\($0.body.count)") }),
        HTTPRoute("/page") { .text(200, "here") },
      ], bounds: bounds)
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body(server, { admitted.withLock { $0 } })) } catch {
      outcome = .failure(error)
    }
    await server.stop()
    try outcome.get()
  }

  @Test(
    "Who is let in sends a file, again and again on one connection, at once or in chunks",
    arguments: [0, 1, 300_000])
  func sends(count: Int) async throws {
    try await withServer { server, admitted in
      let client = try RawClient(port: server.address.port)
      for _ in 0..<2 {
        let answer = try client.request("POST", "/upload", headers: Self.type, body: body(count))
        #expect(answer.status == 200 && answer.text == "\(count) \(count)\n", "\(answer.text)")
      }
      let whole = body(count)
      var head = "POST /upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
      for (name, value) in Self.type { head += "\(name): \(value)\r\n" }
      try client.send(
        raw: Array("\(head)\r\n\(String(whole.count, radix: 16))\r\n".utf8) + whole
          + Array("\r\n0\r\n\r\n".utf8))
      #expect(client.receive().text == "\(count) \(count)\n")
      #expect(admitted() == 3)
    }
  }

  @Test(
    "Who closes their side behind the file is answered, however long it is and however it comes",
    arguments: [0, 10, 30_000, 65_000, 65_536, 100_000, 300_000], [true, false])
  func halfClosed(count: Int, inChunks: Bool) async throws {
    try await withServer({ $0.daemon.idleSeconds = 3600 }) { server, _ in
      let whole = body(count)
      let size = inChunks ? "Transfer-Encoding: chunked" : "Content-Length: \(whole.count)"
      var head = "POST /upload HTTP/1.1\r\nHost: localhost\r\n\(size)\r\n"
      for (name, value) in Self.type { head += "\(name): \(value)\r\n" }
      let sent =
        inChunks
        ? Array("\(String(whole.count, radix: 16))\r\n".utf8) + whole + Array("\r\n0\r\n\r\n".utf8) : whole
      let client = try RawClient(port: server.address.port)
      try client.send(raw: Array("\(head)\r\n".utf8) + sent)
      client.closeSide()
      #expect(client.receive().text == "\(count) \(count)\n")
      // There is nothing to wait for, and the bounds of this server would have it wait for an hour.
      #expect(client.untilClosed() == "")
    }
  }

  @Test("Of a body nothing is kept before it is known who sends it", arguments: [nil, "known", "slow"])
  func letters(token: String?) async throws {
    try await withServer { server, admitted in
      let client = try RawClient(port: server.address.port)
      let headers = token.map { ["Token": $0] } ?? [:]
      let status = token == nil ? 401 : 200
      for count in [0, 10, 64 << 10] {
        let answer = try client.request(
          "POST", "/letters", headers: headers, body: [UInt8](repeating: 65, count: count))
        #expect(answer.status == status && (token == nil || answer.text == "\(count)\n"), "\(answer)")
      }
      #expect(admitted() == 3)
      let asking = try RawClient(port: server.address.port)
      let shown = token.map { "Token: \($0)\r\n" } ?? ""
      try asking.send(
        raw: Array(
          "POST /letters HTTP/1.1\r\nHost: localhost\r\n\(shown)Content-Length: 60000\r\nExpect: 100-continue\r\n\r\n"
            .utf8))
      #expect(asking.receive().status == (token == nil ? 401 : 100))
    }
  }

  @Test("What is no form is told apart from one, and no body at all too")
  func noForm() async throws {
    try await withServer { server, _ in
      let client = try RawClient(port: server.address.port)
      #expect(try client.request("POST", "/upload", headers: ["Token": "known"], body: [1]).text == "-1 -1\n")
      #expect(try client.request("POST", "/upload", headers: Self.type).text == "0 0\n")
    }
  }

  @Test("Who is not let in is told so, when all has been read, or at once where they ask before they send")
  func refused() async throws {
    try await withServer { server, _ in
      let client = try RawClient(port: server.address.port)
      let headers = ["Content-Type": "multipart/form-data; boundary=b"]
      for _ in 0..<2 {
        let answer = try client.request("POST", "/upload", headers: headers, body: body(250_000))
        #expect(answer.status == 401 && answer.ending == .complete)
      }
      let asking = try RawClient(port: server.address.port)
      let head =
        "POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n"
      try asking.send(raw: Array(head.utf8))
      #expect(asking.receive().status == 401)
      let known = try RawClient(port: server.address.port)
      try known.send(
        raw: Array(
          "POST /upload HTTP/1.1\r\nHost: localhost\r\nToken: known\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n"
            .utf8))
      #expect(known.receive().status == 100)
      try known.send(raw: [1])
      #expect(known.receive().status == 200)
    }
  }

  @Test("A file that is too large is refused in words, however it comes")
  func tooLarge() async throws {
    try await withServer { server, admitted in
      let client = try RawClient(port: server.address.port)
      #expect(try client.request("POST", "/upload", headers: Self.type, body: body(400_000)).status == 413)
      #expect(admitted() == 0)
      let chunked = try RawClient(port: server.address.port)
      let whole = body(400_000)
      var head = "POST /upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
      for (name, value) in Self.type { head += "\(name): \(value)\r\n" }
      try chunked.send(
        raw: Array("\(head)\r\n\(String(whole.count, radix: 16))\r\n".utf8) + whole
          + Array("\r\n0\r\n\r\n".utf8))
      #expect(chunked.receive().status == 413)
      // A little over the limit of the file, and within that of the form: counted, and told by the route.
      #expect(
        try RawClient(port: server.address.port).request(
          "POST", "/upload", headers: Self.type, body: body(300_001)
        ).text == "300001 0\n")
    }
  }

  @Test("More than may be in memory together is refused, and let in when there is room again")
  func memory() async throws {
    let gate = Mutex(false)
    try await withServer({ $0.uploads = 400_000 }) { upload in
      _ = upload?.takeFile()
      while !gate.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(5)) }
      upload?.release()
      return .text(200, "done")
    } _: { server, _ in
      let first = try RawClient(port: server.address.port)
      try first.send("POST", "/upload", headers: Self.type, body: body(200_000))
      try await eventually("the first to be held") { server.busy == 1 }
      let second = try RawClient(port: server.address.port).request(
        "POST", "/upload", headers: Self.type, body: body(290_000))
      #expect(second.status == 503 && second.headers["retry-after"] != nil)
      gate.withLock { $0 = true }
      #expect(first.receive().status == 200)
      #expect(
        try RawClient(port: server.address.port).request(
          "POST", "/upload", headers: Self.type, body: body(190_000)
        ).status == 200)
    }
  }

  @Test("A client that sends nothing, or hardly anything, is told so and closed", arguments: [true, false])
  func slow(isSilent: Bool) async throws {
    try await withServer({
      $0.daemon.leastPace = .init(silence: .milliseconds(600), bytesPerSecond: 1_000_000)
    }) { server, _ in
      let client = try RawClient(port: server.address.port)
      var head = "POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n"
      for (name, value) in Self.type { head += "\(name): \(value)\r\n" }
      try client.send(raw: Array("\(head)\r\n--b".utf8))
      if !isSilent {
        for _ in 0..<200 {
          guard (try? client.send(raw: [65])) != nil else { break }
          try await Task.sleep(for: .milliseconds(20))
        }
      }
      let answer = client.receive()
      #expect(answer.status == 408 || !isSilent && answer.ending == .reset, "\(answer)")
      let other = try RawClient(port: server.address.port)
      try other.send(raw: Array("GET /page HT".utf8))
      #expect(other.receive().status == 408)
    }
  }

  @Test("A pace is looked at anew: what came fast before does not count later")
  func pace() {
    let least = HTTPDaemon.LeastPace(silence: .seconds(10), bytesPerSecond: 1000)
    let began = ContinuousClock.now
    var pace = BodyPace(at: began)
    pace.received(5_000_000, at: began + .seconds(1))
    var isTooSlow = false
    var second = 2
    while !isTooSlow, second < 60 {
      pace.received(100, at: began + .seconds(second))
      isTooSlow = pace.isTooSlow(least, at: began + .seconds(second))
      second += 1
    }
    #expect((19...22).contains(second), "\(second)")
    var silent = BodyPace(at: began)
    silent.received(5_000_000, at: began + .seconds(5))
    let (early, late) = (
      silent.isTooSlow(least, at: began + .seconds(14)), silent.isTooSlow(least, at: began + .seconds(16))
    )
    #expect(!early && late)
    var steady = BodyPace(at: began)
    for second in 1...100 {
      steady.received(1001, at: began + .seconds(second))
      let isTooSlow = steady.isTooSlow(least, at: began + .seconds(second))
      #expect(!isTooSlow)
    }
  }

  @Test("A whole body has two minutes, however evenly it comes")
  func longest() {
    let began = ContinuousClock.now
    var pace = BodyPace(at: began)
    for second in 1...121 {
      pace.received(100_000, at: began + .seconds(second))
      let isTooSlow = pace.isTooSlow(.init(), at: began + .seconds(second))
      #expect(isTooSlow == (second > 120), "\(second)")
    }
  }

  @Test("Connections that ask for nothing make room, and lock nobody out")
  func silent() async throws {
    try await withServer({
      $0.daemon.connections = 2
      $0.daemon.surplus = .isRefused
    }) { server, _ in
      let silent = try (0..<40).map { _ in try RawClient(port: server.address.port) }
      #expect(try RawClient(port: server.address.port).request("GET", "/page").status == 200)
      for client in silent { client.close() }
    }
  }

  @Test("What is kept with a file is let go with it, also where it never came", arguments: [true, false])
  func kept(comes: Bool) async throws {
    let kept = KeptThings()
    let gate = Mutex(false)
    try await withServer(keeping: kept) { upload in
      upload?.release()
      while !gate.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(5)) }
      return .text(200, "done")
    } _: { server, _ in
      let client = try RawClient(port: server.address.port)
      let whole = body(10)
      var head = "POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(whole.count)\r\n"
      for (name, value) in Self.type { head += "\(name): \(value)\r\n" }
      try client.send(raw: Array("\(head)Expect: 100-continue\r\n\r\n".utf8))
      #expect(client.receive().status == 100 && kept.count == 1)
      if comes { try client.send(raw: whole) } else { client.close() }
      try await eventually("its end") { kept.count == 0 }
      gate.withLock { $0 = true }
      if comes { #expect(client.receive().status == 200) }
    }
  }

  @Test("One connection too many takes the place of an idle one, or is refused in words")
  func surplus() async throws {
    let gate = Mutex(false)
    try await withServer({
      $0.daemon.connections = 2
      $0.daemon.surplus = .isRefused
    }) { _ in
      while !gate.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(5)) }
      return .text(200, "done")
    } _: { server, _ in
      let idle = try RawClient(port: server.address.port)
      #expect(try idle.request("GET", "/page").status == 200)
      let busy = try (0..<2).map { _ in try RawClient(port: server.address.port) }
      for client in busy { try client.send("POST", "/upload", headers: Self.type, body: body(10)) }
      try await eventually("both to be busy") { server.busy == 2 }
      #expect(idle.receive().status == 0, "it made room")
      let refused = try RawClient(port: server.address.port).request("GET", "/page")
      #expect(refused.status == 503 && refused.headers["retry-after"] != nil, "\(refused)")
      gate.withLock { $0 = true }
      for client in busy { #expect(client.receive().status == 200) }
      #expect(try RawClient(port: server.address.port).request("GET", "/page").status == 200)
    }
  }

  @Test("What is made for a client ends when the client breaks off")
  func abandoned() async throws {
    let hasBegun = Mutex(false)
    let wasCancelled = Mutex(false)
    try await withServer({ $0.endsWithClient = true }) { _ in
      hasBegun.withLock { $0 = true }
      do { try await Task.sleep(for: .seconds(600)) } catch { wasCancelled.withLock { $0 = true } }
      return .text(200, "late")
    } _: { server, _ in
      let client = try RawClient(port: server.address.port)
      try client.send("POST", "/upload", headers: Self.type, body: body(10))
      try await eventually("it to begin") { hasBegun.withLock { $0 } }
      client.reset()
      try await eventually("its end") { wasCancelled.withLock { $0 } }
    }
  }

  @Test("Bodies of any kind, and what is deleted")
  func others() async throws {
    try await withServer { server, _ in
      let client = try RawClient(port: server.address.port)
      #expect(try client.request("POST", "/bytes", body: [1, 2, 3]).text == "3\n")
      #expect(try client.request("POST", "/bytes", body: [UInt8](repeating: 1, count: 101)).status == 413)
      let other = try RawClient(port: server.address.port)
      #expect(try other.request("DELETE", "/things/7").text == "deleted 7\n")
      let wrong = try other.request("GET", "/things/7")
      #expect(wrong.status == 405 && wrong.headers["allow"] == "DELETE")
    }
  }
}

/// Things that are kept, and how many are not let go yet.
private final class KeptThings: Sendable {
  final class One: Sendable {
    private let all: KeptThings

    init(_ all: KeptThings) {
      self.all = all
      all.kept.withLock { $0 += 1 }
    }

    deinit { all.kept.withLock { $0 -= 1 } }
  }

  private let kept = Mutex(0)

  var count: Int { kept.withLock { $0 } }
}
