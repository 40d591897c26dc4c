import CommandLineTool
import Support
import Synchronization

enum UsersPrefetchPhotosCommand {
  static let limit = Option("limit", .int(in: 1...10_000), default: 100, help: "How many photos at most.")
  static let after = Option<String?>("after", .string, help: "Go on behind this user.")

  static let command = ControlCommand(
    "prefetch-photos", abstract: "Fetch the photos of a page of users into the cache.",
    discussion: """
      Photos that are in the folder of --url-cache and not older than a day are left as they are. They are \
      encrypted there with the keys of --key-file, without which there is no such folder. One that a back-end stored \
      as a name is below --photo-base. A photo that cannot be fetched does not stop the others, and the exit code is \
      4; where no user of the page has a photo it is 5.
      """,
    examples: [
      Example(
        "analysisctl users prefetch-photos --config /etc/analysis/analysisctl.conf", "The first users'."),
      Example("analysisctl users prefetch-photos --after u100 --limit 1000", "The following ones'."),
    ],
    inputs: [
      limit, after, RemoteImageOptions.hosts, RemoteImageOptions.photoBase, RemoteImageOptions.cache,
      RemoteImageOptions.cacheSize, KeyFileOption.path,
    ],
    exitCodes: [
      .done, .refused, .nothingToDo, .usage, .unreadableInput, .unreachable, .tryLater, .permission,
    ]
  ) { context in
    let remote = try RemoteImageArguments(context)
    guard remote.isOn else { throw remote.off }
    guard remote.cache != nil else {
      throw CommandFailure.usage(
        "there is no cache to fill",
        advice: "Name its folder: url-cache in the configuration file, or --url-cache.")
    }
    let keys = try await KeyFileOption.readRequired(context)
    let (after, limit) = (try context[after], try context[limit])
    let base = try context[RemoteImageOptions.photoBase]
    return try await context.withSession { session in
      let photos = try await UserDirectory(session.database).photos(after: after, limit: limit)
      let failures = try await remote.withCache(session, keys: keys) { cache in
        guard let cache else { throw remote.off }
        // A back-end may have stored a name. What is neither is reported as any address that cannot be fetched.
        let addresses = photos.map { photo in
          (try? base.address(of: photo.url, among: remote.hosts, in: context.dependencies.network))
            ?? photo.url
        }
        return try await fetch(addresses, into: cache)
      }
      let response = UsersPrefetchResponse(
        lines: photos.enumerated().map { .init(user: $1.reference, failure: failures[$0]) },
        isFull: photos.count == limit)
      try session.view.show(response)
      if let next = response.next {
        session.view.sayUnlessJSON("There may be more: --after \(printable(next))")
      }
      return response.exitCode
    }
  }

  /// Why photos could not be fetched, by their index.
  private static func fetch(
    _ urls: [String], into cache: RemoteImageCache
  ) async throws -> [Int: RemoteImageError] {
    let failures = Mutex<[Int: RemoteImageError]>([:])
    await cache.prefetch(urls) { index, failure in
      if let failure { failures.withLock { $0[index] = failure } }
    }
    // Otherwise those that were left out would be reported as fetched.
    try Task.checkCancellation()
    return failures.withLock { $0 }
  }
}

/// What became of each photo of a page. Of their addresses the hosts alone are named.
struct UsersPrefetchResponse: Sendable, Equatable, Presentable {
  struct Line: Sendable, Equatable {
    let user: String
    /// Nil where the photo is in the cache now.
    let failure: RemoteImageError?
  }

  let lines: [Line]
  /// Whether the page is full, so that another may follow.
  let isFull: Bool

  /// Behind whom the next page begins.
  var next: String? { isFull ? lines.last?.user : nil }

  var exitCode: ExitCode {
    if lines.isEmpty { return .nothingToDo }
    return lines.contains { $0.failure != nil } ? .refused : .done
  }

  var json: JSONValue {
    [
      "photos": .array(
        lines.map { line in
          [
            "user": .string(line.user), "outcome": .string(line.failure == nil ? "ready" : "failed"),
            "reason": .text(line.failure?.code.rawValue), "message": .text(line.failure?.message),
          ]
        }),
      "next": .text(next),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !lines.isEmpty else { return "No photos.\n" }
    return lines.map { line in
      let user = printable(line.user)
      guard let failure = line.failure else { return "\(paint.green("ready")) \(user)\n" }
      return "\(paint.red("failed")) \(user): \(printable(failure.message))\n"
    }.joined()
  }
}
