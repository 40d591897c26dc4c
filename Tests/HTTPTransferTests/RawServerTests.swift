import HTTPTransfer
import TestSupport
import Testing

@Suite("The tests' own server")
struct RawServerTests {
  @Test("serves 200 connections at once, each with the bytes that are its own, and says how many there were")
  func load() async throws {
    let meeting = Barrier(200)
    let answers = try await withServer { connection in
      while let request = try connection.readRequest() {
        // Nobody is answered before everybody has asked.
        meeting.wait()
        try connection.respond(200, request.target)
      }
    } configure: {
      $0.maximumConnections = 200
    } _: { client, server in
      let answers = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<200 {
          group.addTask {
            var isRight = true
            for round in 0..<5 {
              let body = [UInt8](repeating: UInt8(number % 256), count: 50_000)
              let response = try await client.send(
                Request(.post, "\(server.url)/\(number)/\(round)", body: .bytes(body, contentType: "a/b")),
                deadline: patience)
              isRight = isRight && response.body == Array("/\(number)/\(round)".utf8)
            }
            return isRight
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(server.connectionCount >= 200)
      return answers
    }
    #expect(answers.count == 200 && answers.allSatisfy { $0 })
  }

  @Test("refuses at a reserved port until it begins there, and ends what is open when it stops")
  func reserved() async throws {
    let port = try ReservedPort()
    try await withClient { client in
      let error = try #require(await client.failure(Request(.get, port.url)))
      #expect(error.code == .connectionRefused)
      let server = try RawServer(on: port) { connection in
        while try connection.readRequest() != nil { try connection.respond(204) }
      }
      #expect(try await client.send(Request(.get, port.url), deadline: patience).status == 204)
      server.stop()
      let after = try #require(await client.failure(Request(.get, port.url)))
      #expect(after.code == .connectionRefused || after.code == .connectionReset, "\(after)")
    }
    #expect(throws: ServerFailure.self) { try RawServer(on: port) { $0.close() } }
  }
}
