import BenchmarkKit
import Control
import Glibc
import PostgreSQL

/// How long a picture waits whose neighbour has sent costly ones: they must not have all decoders to themselves.
struct NeighbourRow: BenchmarkRow {
  let name = "neighbour"
  let sentence =
    "an urgent job with a small picture, submitted by SQL, to its result, while another user's 16 costly ones are decoded"
  let headline = Headline.figure("p50_ms", unit: "ms")

  private struct Pictures: Sendable {
    let costly: [UInt8]
    let small: DrawnPictures
  }

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let side = bench.size(6999, quick: 999)
    let pictures = try await onOwnThread {
      // Not whole blocks: turned, it is encoded anew, several times until it fits. No phone's picture costs as much.
      let costly = try DrawnPictures(width: side, height: side, bytes: side * side / 7)
      return Pictures(
        costly: PhonePicture.lyingDown(try costly.jpeg(0)),
        small: try DrawnPictures(width: 320, height: 240, bytes: 40_000))
    }
    return [0, 16].map { count in
      Contender(count == 0 ? "alone" : "beside \(count) costly ones") {
        try await Self.sample($0, pictures, beside: count)
      }
    }
  }

  private static func sample(_ bench: Bench, _ pictures: Pictures, beside count: Int) async throws -> Sample {
    try await bench.withDatabase(named: "neighbour_run") { database in
      try await sample(bench, pictures, beside: count, in: database)
    }
  }

  private static func sample(
    _ bench: Bench, _ pictures: Pictures, beside count: Int, in database: BenchmarkDatabase
  ) async throws -> Sample {
    _ = try await QueueFixture.make(in: database, pictures: [])
    for user in ["costly", "small"] {
      _ = try await UserDirectory(database.pool).add(
        NewUser(reference: user, plan: "premium", zone: "UTC", name: nil, email: nil))
    }
    let endpoint = try await EndpointProcess(bench.settings)
    let worker = try MeasuredProcess(
      bench.settings.program("analysis-worker"),
      ["--database", database.conninfo, "--endpoint", endpoint.url])
    defer { worker.send(SIGKILL) }
    // It makes connections and plans, and starts its decoders.
    for number in 0..<3 { _ = try await milliseconds(of: pictures.small.jpeg(number), in: database) }
    for number in 0..<count {
      // Bytes behind the end make it another picture.
      _ = try await submit(pictures.costly + [UInt8(number)], of: "costly", in: database)
    }
    var times: [Double] = []
    for number in 0..<bench.size(9, quick: 2) {
      try await Task.sleep(for: .milliseconds(300))
      times.append(try await milliseconds(of: pictures.small.jpeg(100 + number), in: database))
    }
    worker.send(SIGKILL)
    await endpoint.stop()
    return Sample(
      amount: Double(times.count), seconds: times.reduce(0, +) / 1000, further: try Percentiles(times).figures
    )
  }

  private static func submit(
    _ picture: [UInt8], of user: String, in database: BenchmarkDatabase
  ) async throws -> Int64 {
    let job = try await database.pool.query(
      "SELECT job_id FROM analysis.submit_image($1, 'throat', $2, NULL, 'urgent')",
      [.text(user), .bytes(picture)]
    ).single().int64(0)
    _ = try await database.pool.query("SELECT analysis.notify_workers(analysis.shard_of($1))", [.text(user)])
    return job
  }

  /// From just before a submit until the result is there.
  private static func milliseconds(
    of picture: [UInt8], in database: BenchmarkDatabase
  ) async throws -> Double {
    let begin = ContinuousClock.now
    let job = try await submit(picture, of: "small", in: database)
    while try await database.number("SELECT count(*) FROM analysis.result WHERE job_id = \(job)") == 0 {
      guard ContinuousClock.now - begin < .seconds(300) else {
        throw BenchmarkError("Job \(job) has no result after 300 s.")
      }
      try await Task.sleep(for: .milliseconds(2))
    }
    return (ContinuousClock.now - begin) / .milliseconds(1)
  }
}
