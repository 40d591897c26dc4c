import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("COPY")
struct CopyTests {
  private struct Refused: Error {}

  private func withTable(_ body: (Connection) async throws -> Void) async throws {
    try await withConnection { connection in
      try await connection.execute(script: "CREATE TABLE t (n int PRIMARY KEY, text text)")
      try await body(connection)
    }
  }

  @Test("takes rows in parts of any size and gives them back")
  func bothWays() async throws {
    try await withTable { connection in
      let lines = (0..<20_000).map { "\($0)\tline \($0) é\n" }
      let text = Array(lines.joined().utf8)
      let copied = try await connection.copyIn("COPY t FROM STDIN") { writer in
        try await writer.write(Array(text[..<7]))
        try await writer.write([])
        try await writer.write(Array(text[7...]))
      }
      #expect(copied == 20_000)
      var output: [UInt8] = []
      var chunks = 0
      let rows = try await connection.copyOut("COPY (SELECT * FROM t ORDER BY n) TO STDOUT") { chunk in
        #expect(chunk.last == UInt8(ascii: "\n"))
        output += chunk
        chunks += 1
      }
      #expect(rows == 20_000)
      #expect(output == text)
      #expect(chunks > 1)
      #expect(try await connection.query("SELECT 1").count == 1)
    }
  }

  @Test("of nothing is nothing")
  func empty() async throws {
    try await withTable { connection in
      let copiedIn = try await connection.copyIn("COPY t FROM STDIN") { _ in }
      let copiedOut = try await connection.copyOut("COPY t TO STDOUT") { _ in }
      #expect(copiedIn == 0 && copiedOut == 0)
    }
  }

  @Test("is undone when the closure throws or the server refuses a row")
  func undone() async throws {
    try await withTable { connection in
      await #expect(throws: Refused.self) {
        try await connection.copyIn("COPY t FROM STDIN") { writer in
          try await writer.write("1\tone\n")
          throw Refused()
        }
      }
      let failure = await error {
        try await connection.copyIn("COPY t FROM STDIN") {
          try await $0.write("1\tone\nann@clinic.example\ttwo\n")
        }
      }
      #expect(failure?.sqlState == "22P02")
      #expect(failure.map { !"\($0)".contains("clinic.example") } == true)
      let found = try await connection.query("SELECT * FROM t").isEmpty
      #expect(found)
    }
  }

  @Test("out stops when the closure throws")
  func stopped() async throws {
    try await withTable { connection in
      await #expect(throws: Refused.self) {
        try await connection.copyOut("COPY (SELECT generate_series(1, 100000000)) TO STDOUT") { _ in
          throw Refused()
        }
      }
      let late = await error {
        try await connection.copyOut(
          "COPY (SELECT n, pg_sleep(0.001) FROM generate_series(1, 10000000) AS n) TO STDOUT",
          deadline: .milliseconds(50)
        ) { _ in }
      }
      #expect(late?.code == .deadlineExceeded)
      let found = try await connection.query("SELECT 1").single().int(0)
      #expect(found == 1)
    }
  }

  @Test("in ends when the task is cancelled, at whatever moment, and the next call gets its own answer")
  func cancelled() async throws {
    try await withTable { connection in
      for round in 0..<30 {
        let task = Task {
          await error {
            try await connection.copyIn("COPY t FROM STDIN") { writer in
              if round % 2 == 0 { try await writer.write("1\tone\n") }
              withUnsafeCurrentTask { $0?.cancel() }
              while true { try await writer.write("2\ttwo\n") }
            }
          }
        }
        #expect(await task.value?.code == .cancelled)
        let rows = try await connection.query("SELECT count(*) FROM t")
        #expect(try rows.single().int(0) == 0)
      }
    }
  }

  @Test(
    "by another call, or another statement by these calls, is a misuse",
    arguments: ["SELECT 1", "COPY t TO STDOUT", "COPY nowhere FROM STDIN"])
  func misuse(sql: String) async throws {
    try await withTable { connection in
      let failure = await error { try await connection.copyIn(sql) { _ in } }
      #expect(failure?.code == (sql.contains("nowhere") ? .server : .misuse))
      #expect(connection.isUsable == !sql.hasPrefix("COPY t"))
    }
    try await withTable { connection in
      #expect(await error { try await connection.query("COPY t TO STDOUT") }?.code == .misuse)
      #expect(!connection.isUsable)
    }
  }
}
