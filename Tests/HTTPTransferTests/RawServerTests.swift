import Synchronization
import TestSupport
import Testing

@Suite("The tests' own server")
struct RawServerTests {
  @Test("reads and writes nothing after it has closed, for by then the descriptor may be another test's")
  func closed() async throws {
    let (ended, end) = AsyncStream<String>.makeStream()
    let server = try RawServer { connection in
      connection.reset()
      let request = try connection.readRequest()
      do { try connection.write("HTTP/1.1 200 OK\r\n\r\n") } catch { end.yield("\(request == nil) \(error)") }
    }
    defer { server.stop() }
    let client = try RawClient(port: server.port)
    defer { client.close() }
    for await what in ended {
      #expect(what == "true the connection is closed")
      break
    }
  }
}
