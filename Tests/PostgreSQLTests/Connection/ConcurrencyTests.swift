import PostgreSQL
import TestSupport
import Testing

@Suite("Many callers of one connection")
struct ConcurrencyTests {
  @Test("each get their own answer, in any mixture of calls")
  func callers() async throws {
    try await withConnection { connection in
      try await connection.execute(script: "CREATE TABLE t (n int)")
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<50 {
          group.addTask {
            let value = Parameter.int32(Int32(number))
            switch number % 5 {
            case 0: return try await connection.query("SELECT $1", [value]).single().int(0) == number
            case 1:
              let results = try await connection.pipeline([
                SQLStatement("SELECT $1", [value]), SQLStatement("INSERT INTO t VALUES ($1)", [value]),
              ])
              return try results[0].get().single().int(0) == number
            case 2:
              var sum = 0
              try await connection.forEachRow("SELECT generate_series(1, $1)", [value]) {
                sum += try $0.int(0)
              }
              return sum == number * (number + 1) / 2
            case 3:
              return try await connection.transaction { transaction in
                _ = try await transaction.query("INSERT INTO t VALUES ($1)", [value])
                return try await transaction.query("SELECT $1", [value]).single().int(0) == number
              }
            default: return await error { try await connection.query("SELECT 1 / 0") }?.sqlState == "22012"
            }
          }
        }
        for try await isRight in group { #expect(isRight) }
      }
      #expect(try await connection.query("SELECT count(*) FROM t").single().int(0) == 20)
    }
  }

  @Test("get their rows whole in a pipeline that comes right after rows that were read one by one")
  func pipelineAfterStream() async throws {
    try await withConnection { connection in
      let statement = SQLStatement("SELECT $1", [.int32(7)])
      for _ in 0..<5 {
        try await connection.forEachRow("SELECT generate_series(1, 3)") { _ in }
        let answers = try await connection.pipeline([statement, statement])
        for answer in answers { #expect(try answer.get().single().int(0) == 7) }
      }
    }
  }

  @Test("are served in the order in which they came")
  func order() async throws {
    try await withConnection { connection in
      try await connection.execute(script: "CREATE TABLE t (place serial, n int)")
      let loop = connection.loop
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<50 {
          // On the loop, tasks run in the order in which they were made.
          group.addTask(executorPreference: loop) {
            _ = await error {
              try await connection.query("INSERT INTO t (n) VALUES ($1)", [.int32(Int32(number))])
            }
          }
        }
      }
      let rows = try await connection.query("SELECT n FROM t ORDER BY place")
      #expect(try rows.map { try $0.int(0) } == Array(0..<50))
    }
  }
}
