import AnalysisCore
import JobQueue
import PostgreSQL
import Testing

@Suite("The reader of images")
struct ImageReaderTests {
  @Test("hands over each image with the beginning of its SHA-256, and names those that are gone")
  func read() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submitted(3)
      let claimed = try await queue.claim()
      let gone = ImageKey(period: claimed[0].image.period, id: 1_000_000)
      let other = ImageKey(period: try #require(claimed[0].image.period.next), id: claimed[0].image.id)
      var images: [ImageKey: [UInt8]] = [:]
      let missing = try await ImageReader.read(
        claimed.map(\.image) + [gone, other], shard: 0, on: queue.pool
      ) { key, image in
        images[key] = image.bytes.withUnsafeBytes { Array($0) }
        let hash = try await queue.pool.query(
          "SELECT encode(sha256, 'hex') FROM analysis.image WHERE id = \(key.id)"
        ).first?.string(0)
        #expect(image.mark.utf8.count == 16 && hash?.hasPrefix(image.mark) == true)
      }
      #expect(missing == [gone, other])
      #expect(
        images
          == Dictionary(
            uniqueKeysWithValues: claimed.enumerated().map {
              ($0.element.image, QueueFixture.bytes($0.offset + 1))
            }))
    }
  }

  @Test("passes on what its reader throws")
  func throwing() async throws {
    struct Full: Error {}
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submitted(2)
      let claimed = try await queue.claim()
      await #expect(throws: Full.self) {
        try await ImageReader.read(claimed.map(\.image), shard: 0, on: queue.pool) { _, _ in throw Full() }
      }
      #expect(try await queue.number("SELECT 1") == 1)
    }
  }

  @Test("reads nothing for no keys")
  func none() async throws {
    try await withQueue { queue async throws in
      let missing = try await ImageReader.read([], shard: 0, on: queue.pool) { _, _ in
        Issue.record("there is nothing to hand over")
      }
      #expect(missing.isEmpty)
    }
  }
}
