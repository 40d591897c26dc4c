import BenchmarkKit
import Foundation
import Images
import PostgreSQL
import TestSupport

/// What it costs to take pictures in: cleaning alone, in this process and in a decoder's, and the whole of
/// `analysisctl submit`.
struct IntakeRow: BenchmarkRow {
  let name = "intake"
  let sentence = "pictures a second that are cleaned, and that are cleaned, stored and made jobs of"
  let headline = Headline.rate(of: "pictures")

  /// One size of pictures.
  private struct Size: Sendable {
    let words: String
    let width: Int
    let height: Int
    let bytes: Int
    let count: Int
    let quickCount: Int
    /// Whether it lies on its side; else nothing needs to be done to it.
    var liesDown = true
  }

  // Sides in whole blocks of 16: then a picture is turned without loss, as those of phones are.
  private static let sizes = [
    Size(words: "200 KB", width: 1280, height: 960, bytes: 200_000, count: 300, quickCount: 6),
    Size(words: "4 MB", width: 4032, height: 3024, bytes: 4_000_000, count: 30, quickCount: 1),
    Size(
      words: "120 KB upright", width: 1280, height: 960, bytes: 120_000, count: 300, quickCount: 6,
      liesDown: false),
    Size(
      words: "3 MB upright", width: 4032, height: 3024, bytes: 3_000_000, count: 30, quickCount: 1,
      liesDown: false),
  ]

  func contenders(_ bench: Bench) async throws -> [Contender] {
    var contenders: [Contender] = []
    for size in Self.sizes {
      let files = try await onOwnThread {
        try Self.files(size, bench.size(size.count, quick: size.quickCount))
      }
      contenders += [
        Contender("cleaning, \(size.words)") { _ in try await Self.clean(files) },
        Contender("cleaning in image-decoder, \(size.words)") { _ in try await Self.cleanApart(files) },
        Contender("analysisctl submit, \(size.words)") { try await Self.submit($0, files) },
      ]
    }
    return contenders
  }

  /// Pictures in a folder, and their bytes.
  private struct Files: Sendable {
    let liesDown: Bool
    let folder: TemporaryFolder
    let pictures: [[UInt8]]
  }

  private static func files(_ size: Size, _ count: Int) throws -> Files {
    let drawn = try DrawnPictures(width: size.width, height: size.height, bytes: size.bytes)
    let files = Files(
      liesDown: size.liesDown, folder: try TemporaryFolder(),
      pictures: try (0..<count).map {
        let picture = try drawn.jpeg($0)
        return size.liesDown ? PhonePicture.lyingDown(picture) : picture
      })
    for (number, picture) in files.pictures.enumerated() {
      try Data(picture).write(to: files.folder.url.appending(path: "photo-\(number).jpg"))
    }
    return files
  }

  /// On one thread. The memory is that of the benchmarks, which hold the pictures, and so is not told.
  private static func clean(_ files: Files) async throws -> Sample {
    let pictures = files.pictures
    return try await onOwnThread {
      let cleaner = ImageCleaner()
      let before = OwnUsage().seconds
      let begin = ContinuousClock.now
      for picture in pictures {
        guard try cleaner.clean(picture).changes.turned == files.liesDown else {
          throw BenchmarkError("A picture was not turned upright as it was to be")
        }
      }
      let time = ContinuousClock.now - begin
      return Sample(
        amount: Double(pictures.count), seconds: time / .seconds(1),
        workerSeconds: OwnUsage().seconds - before)
    }
  }

  /// In one `image-decoder`, its start and its end included.
  private static func cleanApart(_ files: Files) async throws -> Sample {
    let before = OwnUsage()
    let begin = ContinuousClock.now
    do {
      let decoders = ImageDecoders(slots: 1)
      for picture in files.pictures { _ = try await decoders.clean(picture) }
    }
    // How much of the processor's time the decoder used is known once it has ended, which another thread waits for.
    var after = OwnUsage()
    while after.secondsOfChildren == before.secondsOfChildren {
      guard begin.duration(to: .now) < .seconds(60) else {
        throw BenchmarkError("The decoder did not end")
      }
      try await Task.sleep(for: .milliseconds(1))
      after = OwnUsage()
    }
    let time = ContinuousClock.now - begin
    return Sample(
      amount: Double(files.pictures.count), seconds: time / .seconds(1),
      workerSeconds: after.seconds + after.secondsOfChildren - before.seconds - before.secondsOfChildren)
  }

  private static func submit(_ bench: Bench, _ files: Files) async throws -> Sample {
    try await bench.withDatabase(named: "intake_run") { database in
      _ = try await database.pool.query(
        "SELECT analysis.add_user(0::smallint, 'u1', 'premium', 'UTC', NULL, NULL)")
      try await bench.cluster.settle(database)
      let program = try bench.settings.program("analysisctl")
      let (ended, meter) = try await bench.cluster.metered {
        try await MeasuredProcess.run(
          program,
          [
            "submit", "--database", database.conninfo, "--user", "u1", "--type", "throat",
            files.folder.url.path,
          ])
      }
      let jobs = try await database.number("SELECT count(*)::int FROM analysis.job")
      guard jobs == files.pictures.count else {
        throw BenchmarkError(
          "\(jobs) of \(files.pictures.count) pictures became jobs: \(ended.errors.suffix(1000))")
      }
      return Sample(
        amount: Double(jobs), seconds: meter.seconds, workerSeconds: ended.usage.seconds,
        serverSeconds: meter.serverSeconds, peakMemory: ended.usage.peakMemory,
        further: ["wal_bytes_per_picture": meter.logBytes / Double(jobs)])
    }
  }
}
