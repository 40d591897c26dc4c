import EventLoop
import Testing

@testable import Control
@testable import PostgreSQL

@Suite("The first connection of a command")
struct FirstConnectionTests {
  @Test(
    "is tried again where the server is away or frozen, and not where waiting mends nothing",
    arguments: [
      (PostgreSQLError.Code.connectionLost, 3), (.deadlineExceeded, 3), (.misuse, 1),
    ])
  func passing(code: PostgreSQLError.Code, attempts: Int) async throws {
    let first = FirstConnection(on: try EventLoop(), patience: .seconds(600), say: { _ in })
    var made = 0
    do {
      try await first.made {
        made += 1
        if made < 3 { throw PostgreSQLError(code, "a failure") }
      }
    } catch {
      #expect((error as? PostgreSQLError)?.code == code)
    }
    #expect(made == attempts)
  }
}
