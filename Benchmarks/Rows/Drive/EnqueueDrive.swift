import BenchmarkKit
import CommandLineTool
import EventLoop
import Foundation
import Images
import PostgreSQL
import Queue
import Support

/// `benchmarks drive enqueue`: submits jobs with keys, as a back-end or `analysisctl` does.
enum EnqueueDrive {
  static let jobs = Option<Int>("jobs", .int(in: 1...100_000_000), default: 1000, help: "How many in all.")
  static let batch = Option<Int>("batch", .int(in: 1...100_000), default: 1, help: "Jobs in a call.")
  static let connections = Option<Int>(
    "connections", .int(in: 1...16), default: 1, help: "Connections, each for users of its own.")
  static let bytes = Option<Int?>(
    "bytes", .int(in: 16...10_000_000),
    help: "Send an image of so many bytes with each job; else jobs name an image that is stored.")

  static let keyFile = Option<String?>(
    "key-file", .string, help: "Encrypt the images with the keys of this file.")

  static let imageStore = Option<String?>(
    "image-store", .string, help: "Write the images to the object store of this file.")

  static let command = Command(
    "enqueue", abstract: "Submits jobs.",
    inputs: [DriveCommand.database, jobs, batch, connections, bytes, keyFile, imageStore], run: run)

  @Sendable
  private static func run(_ context: Context) async throws -> ExitCode {
    let values = context.values
    if try values[keyFile] != nil, try values[bytes] == nil {
      throw CommandFailure(.usage, "Only images that are sent are encrypted.", advice: "Give --bytes too.")
    }
    let conninfo = try DriveCommand.conninfo(context)
    let count = try values[connections]
    let each = (try values[jobs] + count - 1) / count
    let size = try values[batch]
    let loop = try EventLoop(name: "enqueue")
    defer { loop.shutdown() }
    let reader = ConnectionPool(ConnectionConfiguration(conninfo), on: loop, size: 1)
    let pictures = try await QueueFixture.pictures(in: reader)
    await reader.close()
    let keys = try values[keyFile].map { path throws(ImageEncryptionError) in try KeyFile.read(path) }
    var store: ImageStore?
    if let file = try values[imageStore] { store = try ImageStore(file: file, environment: [:], loop: loop) }
    let limits = SubmitLimits(maximumCount: size, deadline: .seconds(120))
    var lines: [EnqueueLine] = []
    for number in 0..<count {
      let pool = ConnectionPool(
        ConnectionConfiguration(conninfo, applicationName: "benchmark-enqueue"), on: loop, size: 1)
      let newImages = try await NewImages.read(pool, store: store, hasKeys: keys != nil)
      let own = pictures.enumerated().filter { $0.offset % QueueFixture.userCount % count == number }
      lines.append(
        EnqueueLine(
          submitter: Submitter(pool, limits: limits), pool: pool, number: number,
          pictures: own.map(\.element), bytes: try values[bytes], keys: keys,
          newImages: newImages))
    }
    let report = try await DriveCommand.report {
      try await withThrowingTaskGroup(of: Int.self) { group in
        for line in lines {
          group.addTask(executorPreference: loop) { try await line.run(jobs: each, batch: size) }
        }
        return try await group.reduce(0, +)
      }
    }
    for line in lines { await line.pool.close() }
    await store?.close()
    try context.console.print(report.line())
    return .done
  }
}

/// One connection's part of the submits.
private struct EnqueueLine: Sendable {
  let submitter: Submitter
  let pool: ConnectionPool
  let number: Int
  let pictures: [QueueFixture.StoredPicture]
  let bytes: Int?
  let keys: KeyRing?
  /// Where images go that are sent; nil: to the database.
  let newImages: NewImages?

  func run(jobs: Int, batch: Int) async throws -> Int {
    var done = 0
    while done < jobs {
      let items = try await submissions(done..<min(done + batch, jobs))
      for outcome in try await submitter.submit(items) {
        guard case .created = outcome else { throw BenchmarkError("A submit gave \(outcome).") }
      }
      done += items.count
    }
    await submitter.notifyWorkers()
    return done
  }

  /// What is submitted in a call; its images are written to the object store at once, where they go there.
  private func submissions(_ places: Range<Int>) async throws -> [Submission] {
    var items = try places.map(submission)
    guard let newImages else { return items }
    let images = items.map(\.image)
    let stored = try await withThrowingTaskGroup(of: (Int, SubmittedImage).self) { group in
      for index in images.indices {
        group.addTask {
          let image = try await Self.stored(images[index], by: newImages)
          return (index, image)
        }
      }
      var stored = images
      while let (index, image) = try await group.next() { stored[index] = image }
      return stored
    }
    for index in items.indices { items[index].image = stored[index] }
    return items
  }

  /// The image as the object that it has become.
  private static func stored(
    _ image: SubmittedImage, by newImages: NewImages
  ) async throws -> SubmittedImage {
    guard case .bytes(let bytes, let sha256, let width, let height, _, let key) = image else { return image }
    let object = try await newImages.put(bytes, sha256: sha256)
    return .object(object, sha256: sha256, width: width, height: height, storedKey: key)
  }

  private func submission(_ place: Int) throws -> Submission {
    let picture = pictures[place % pictures.count]
    let image =
      if let bytes { try ownImage(of: picture.user, bytes: bytes) } else {
        SubmittedImage.known(sha256: picture.sha256)
      }
    return Submission(
      user: picture.user, kind: place.isMultiple(of: 2) ? .throat : .ear, image: image,
      key: "visit-\(number)-\(place)")
  }

  private func ownImage(of user: String, bytes: Int) throws -> SubmittedImage {
    var random = SystemRandomNumberGenerator()
    let image = PictureBytes.picture(random.next(), bytes: bytes)
    guard let keys else {
      return .bytes(image, sha256: SHA256.digest(of: image), width: 640, height: 480)
    }
    // A worker sends only what has its hash.
    let sha256 = keys.imageHash(of: image)
    let encrypted = try keys.encrypt(image, ImageBinding(user: user, sha256: sha256))
    return .bytes(
      encrypted.bytes, sha256: sha256, width: 640, height: 480,
      storedKey: StoredKey(keyID: encrypted.key.keyID.value, wrappedKey: encrypted.key.bytes))
  }
}
