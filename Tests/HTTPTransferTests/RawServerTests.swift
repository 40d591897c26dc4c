import HTTPTransfer
import TestSupport
import Testing

@Suite("The tests' own server")
struct RawServerTests {
  @Test("reads and writes nothing after it has closed, for by then the descriptor may be another test's")
  func closed() async throws {
    let (ended, end) = AsyncStream<String>.makeStream()
    try await withServer { connection in
      connection.reset()
      let request = try connection.readRequest()
      do { try connection.write("HTTP/1.1 200 OK\r\n\r\n") } catch { end.yield("\(request == nil) \(error)") }
    } _: { client, server in
      _ = await client.failure(Request(.get, server.url), deadline: patience)
      for await what in ended {
        #expect(what == "true the connection is closed")
        break
      }
    }
  }
}
