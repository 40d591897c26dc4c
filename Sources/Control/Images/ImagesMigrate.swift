import CommandLineTool
import EventLoop
import PostgreSQL
import Queue
import Support

enum ImagesCommand {
  static let command = ControlCommand(
    "images", abstract: "Move stored images to an object store, and back.",
    examples: [
      Example(
        "analysisctl images migrate --to s3 --image-store store.conf", "After settings set image_store s3.")
    ],
    subcommands: [ImagesMigrateCommand.command])
}

enum ImagesMigrateCommand {
  /// Where images are to be.
  enum Place: String, CaseIterable, Sendable {
    case s3, database
  }

  static let to = Option<Place?>(
    "to", .choice(Place.self), help: "Where they are to be, as the setting has it.")
  static let rate = Option<Int?>(
    "rate", .int(in: 1...100_000), valueName: "images", help: "Move at most so many images a second.")

  static let command = ControlCommand(
    "migrate", abstract: "Move the images that are there to where new ones go.",
    discussion: """
      The setting image_store has to be changed first, so that nothing new comes to the old place. Submits and workers \
      go on meanwhile: each row says where its image is.

      Sixteen images are moved at a time: whatever ends the command, what was moved holds, and the same command does \
      the rest. Objects that are needed no more go with the next purge. What lies in plaintext stays in the database, \
      unless image_store is s3-plaintext. Exit code 4 when an object is gone or has another length.
      """,
    examples: [
      Example("analysisctl images migrate --to s3 --image-store store.conf --rate 200", "Out, 200 a second."),
      Example(
        "analysisctl images migrate --to database --image-store store.conf --json", "Back, for a program."),
    ],
    inputs: [to, rate, SharedOptions.imageStore, ReasonOption.reason],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    guard let place = try context[to] else {
      throw CommandFailure.usage(
        "nothing says where images are to be", advice: "Give --to s3 or --to database.")
    }
    let rate = try context[rate]
    return try await context.withSession { session in
      try await ImageStoreOption.with(session) { store in
        guard let store else { throw ImageStoreOption.missing }
        let newImages = try await NewImages.read(session.database, store: store, hasKeys: true)
        guard (newImages != nil) == (place == .s3) else {
          throw CommandFailure.usage(
            "new images go elsewhere",
            advice: "Change that first: analysisctl settings set image_store \(place).")
        }
        let move = ImageMove(
          database: session.database, store: store, newImages: newImages, rate: rate, actor: try session.actor
        )
        let bar = ProgressBar("images", total: nil, console: session.console)
        let response = try await move.run { bar.advance(by: $0) }
        bar.finish()
        try session.view.show(response)
        return response.failed == 0 ? .done : .refused
      }
    }
  }
}

/// What a migration of images came to.
struct ImagesMigrateResponse: Sendable, Equatable, Presentable {
  let place: ImagesMigrateCommand.Place
  var moved = 0
  /// How many could not be moved, since their object is gone or has another length.
  var failed = 0
  var example: Int64?

  var json: JSONValue {
    [
      "to": .string(place.rawValue), "moved": .count(moved), "failed": .count(failed),
      "example": .text(example.map { String($0) }),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let first = "\(moved) images moved to \(place == .s3 ? "the object store" : "the database")\n"
    guard let example else { return first }
    return first + paint.red("\(failed) images could not be (one is image \(example))")
      + ": their objects are gone or have another length\n"
  }
}

/// Moves all images to an object store, or back.
struct ImageMove: Sendable {
  let database: ConnectionPool
  let store: ImageStore
  /// By which they go out; nil: they come back.
  let newImages: NewImages?
  /// How many images a second at most.
  let rate: Int?
  /// Who does it, for the audit.
  let actor: AuditActor

  /// How many are moved in one statement, and at once: each may have 10 MB.
  private static let pageSize: Int32 = 16

  private struct Row: Sendable, Decodable {
    let image: Int64
    /// Nil where it is in the store.
    let bytes: [UInt8]?
    let object: String?
    let sha256: [UInt8]
    let byteCount: Int
  }

  /// Does it page by page.
  ///
  /// - Parameter advanced: Called with how many more were looked at.
  func run(_ advanced: @Sendable (Int) -> Void) async throws -> ImagesMigrateResponse {
    var response = ImagesMigrateResponse(place: newImages == nil ? .database : .s3)
    for location in try await ImageKeyDirectory(database).locations() {
      var last: Int64 = 0
      while true {
        let began = EventLoop.now
        let page = try await page(of: location, after: last)
        guard let end = page.last?.image else { break }
        last = end
        response.moved += try await move(page, in: location, &response)
        advanced(page.count)
        if let rate {
          let rest = Duration.seconds(1) * page.count / rate - (EventLoop.now - began)
          if rest > .zero { try await database.loop.sleep(for: rest) }
        }
      }
    }
    return response
  }

  private func page(
    of location: (shard: Int16, period: Period), after last: Int64
  ) async throws(JobQueueError) -> [Row] {
    try await Statement(
      SQLFunction("images_to_move", 5),
      [
        .int16(location.shard), .int16(location.period.label), .int64(last), .bool(newImages != nil),
        .int32(Self.pageSize),
      ], as: [Row].self, while: "reading images to move"
    ).run(on: database)
  }

  /// Brings the images of a page to where they are to be, then has their rows say so; answers how many did.
  private func move(
    _ page: [Row], in location: (shard: Int16, period: Period), _ response: inout ImagesMigrateResponse
  ) async throws -> Int {
    var brought: [(row: Row, key: String, bytes: [UInt8])] = []
    try await withThrowingTaskGroup(of: (Row, String, [UInt8])?.self) { group in
      for row in page { group.addTask { try await bring(row) } }
      for try await found in group { if let found { brought.append(found) } }
    }
    let found = Set(brought.map(\.row.image))
    for row in page where !found.contains(row.image) {
      response.failed += 1
      response.example = response.example ?? row.image
    }
    guard !brought.isEmpty else { return 0 }
    return try await Statement(
      SQLFunction("move_images", 5),
      [
        .int16(location.shard), .int16(location.period.label), .array(brought.map(\.row.image)),
        .array(brought.map(\.key)),
        newImages == nil ? .array(brought.map(\.bytes)) : .nullArray(of: [UInt8].self),
      ], as: Int.self, while: "moving images"
    ).run(on: database, as: actor)
  }

  /// Writes an image to the store, or reads it from there; nil where it is not there as it was.
  private func bring(_ row: Row) async throws(ImageStoreError) -> (Row, String, [UInt8])? {
    if let newImages {
      guard let bytes = row.bytes else { return nil }
      return (row, try await newImages.put(bytes, sha256: row.sha256).key, [])
    }
    var image = StoredImage(bytes: Blob([]), sha256: row.sha256)
    image.objectKey = row.object
    guard let key = row.object, let found = try await store.fetch(image), found.bytes.count == row.byteCount
    else { return nil }
    return (row, key, found.bytes.bytes)
  }
}
