import Administration
import CommandLineTool
import JobQueue
import PostgreSQL
import RemoteImages
import Synchronization

/// What became of each photo of a page.
struct UsersPrefetchResponse: Sendable, Equatable {
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
}

/// Fetches a page of users' photos into the cache.
struct UsersPrefetchInteractor: Sendable {
  let database: ConnectionPool
  let images: RemoteImageCache?

  func answer(after: String?, limit: Int) async throws -> UsersPrefetchResponse {
    guard let images else { throw RemoteImageArguments.off }
    let photos = try await UserDirectory(database).photos(after: after, limit: limit)
    let failures = Mutex<[Int: RemoteImageError]>([:])
    await images.prefetch(photos.map(\.url)) { place, failure in
      if let failure { failures.withLock { $0[place] = failure } }
    }
    // Otherwise those that were left out would be told as fetched.
    try Task.checkCancellation()
    let found = failures.withLock { $0 }
    return UsersPrefetchResponse(
      lines: photos.enumerated().map { .init(user: $1.reference, failure: found[$0]) },
      isFull: photos.count == limit)
  }
}
