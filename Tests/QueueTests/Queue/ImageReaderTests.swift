import PostgreSQL
import QueueTestSupport
import Testing

@testable import Queue
@testable import Support

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

  @Test("has the images of a claim's first jobs come behind it in one write, up to a number and a size")
  func ofClaim() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit(5)
      let lane = Lane(.throat, .normal)
      let all = [Lane(.throat, .urgent), lane].map { LaneClaim(lane: $0, from: 0, limit: 4) }
      func images(_ count: Int, _ bytes: Int, lease: Int64 = 500) -> Statement<[ImageKey: StoredImage]> {
        ImageReader.ofClaim(
          by: queue.statements.worker, shard: 0, firstLease: lease, leases: all.count, images: count,
          bytes: bytes)
      }
      let claim = queue.statements.claim(
        firstLease: 500, lanes: all, count: 4, leaseDuration: .seconds(600))
      let results = try await queue.pool.pipeline([claim.sql, images(3, 1 << 20).sql])
      let jobs = try claim.decode(results[0]).flatMap(\.jobs)
      let came = try images(3, 1 << 20).decode(results[1])
      #expect(jobs.map(\.lease) == [501, 501, 501, 501])
      #expect(Set(came.keys) == Set(jobs.prefix(3).map(\.image)))
      for (number, job) in jobs.prefix(3).enumerated() {
        let bytes = came[job.image]?.bytes.withUnsafeBytes { Array($0) }
        #expect(bytes == QueueFixture.bytes(number + 1))
      }
      let sizes = jobs.map(\.imageBytes)
      #expect(try await images(4, sizes[0] + sizes[1]).run(on: queue.pool).count == 2)
      #expect(try await images(4, sizes[0] - 1).run(on: queue.pool).isEmpty)
      #expect(try await images(0, 1 << 20).run(on: queue.pool).isEmpty)
      // A claim that took nothing, and one of somebody else.
      #expect(try await images(4, 1 << 20, lease: 700).run(on: queue.pool).isEmpty)
      let other = try await queue.claim(worker: 2, lease: 800)
      #expect(other.count == 1)
      #expect(try await images(4, 1 << 20, lease: 800).run(on: queue.pool).isEmpty)
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
