import AnalysisCore
import JobQueue
import PostgreSQL
import QueueTestSupport
import System
import Testing

@Suite("The reader of images")
struct ImageReaderTests {
  @Test(
    "hands over each image with its hash, and names those that are gone, or another worker's"
  )
  func read() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit(5)
      let all = try await queue.claimJobs()
      let claimed = Array(all.prefix(3))
      // One whose image was removed, and one that says that it has another's.
      _ = try await queue.pool.query("DELETE FROM analysis.image WHERE id = \(all[3].image.id)")
      var other = claimed[0]
      other.image = ImageKey(period: try #require(other.image.period.next), id: other.image.id)
      var images: [ImageKey: [UInt8]] = [:]
      let missing = try await ImageReader.read(
        of: claimed + [all[3], other], by: queue.statements.worker, shard: 0, on: queue.pool
      ) { key, image in
        images[key] = image.bytes.withUnsafeBytes { Array($0) }
        #expect(image.sha256 == SHA256.digest(of: images[key] ?? []))
      }
      #expect(missing == [all[3].image, other.image])
      let isSame =
        images
        == Dictionary(
          uniqueKeysWithValues: claimed.enumerated().map {
            ($0.element.image, QueueFixture.bytes($0.offset + 1))
          })
      #expect(isSame)
    }
  }

  @Test("takes no image for gone where the lease is lost, or the server is not the primary any more")
  func unknown() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit(2)
      let claimed = try await queue.claimJobs()
      try await queue.pool.withConnection { connection in
        func failure() async throws -> JobQueueError? {
          await #expect(throws: JobQueueError.self) {
            try await ImageReader.read(of: claimed, by: queue.statements.worker, shard: 0, on: connection) {
              _, _ in
            }
          }
        }
        try await connection.execute(script: "SET default_transaction_read_only = on")
        #expect(try await failure()?.code == .unreachable)
        try await connection.execute(script: "SET default_transaction_read_only = off")
        #expect(
          try await ImageReader.read(of: claimed, by: queue.statements.worker, shard: 0, on: connection) {
            _, _ in
          }.isEmpty)
        try await connection.execute(script: "DELETE FROM analysis.lease")
        let lost = try await failure()
        #expect(lost?.code == .conflict && lost?.message.contains("a lease of the jobs is lost") == true)
      }
    }
  }

  @Test("passes on what its reader throws")
  func throwing() async throws {
    struct Full: Error {}
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit(2)
      let claimed = try await queue.claimJobs()
      await #expect(throws: Full.self) {
        try await ImageReader.read(of: claimed, by: queue.statements.worker, shard: 0, on: queue.pool) {
          _, _ in throw Full()
        }
      }
      #expect(try await queue.number("SELECT 1") == 1)
    }
  }

  @Test("reads nothing for no keys")
  func none() async throws {
    try await withQueue { queue async throws in
      let missing = try await ImageReader.read(of: [], by: queue.statements.worker, shard: 0, on: queue.pool)
      { _, _ in
        Issue.record("there is nothing to hand over")
      }
      #expect(missing.isEmpty)
    }
  }
}
