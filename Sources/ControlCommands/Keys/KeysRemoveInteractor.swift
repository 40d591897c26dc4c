import Administration
import CommandLineTool
import ImageEncryption
import JobQueue
import PostgreSQL

/// Removes a key under which nothing is.
struct KeysRemoveInteractor: Sendable {
  let database: ConnectionPool
  /// What the file holds before.
  let keys: KeyRing
  /// Who does it, for the audit.
  let actor: AuditActor
  /// In seconds since 1970.
  let now: Double
  /// Whether nobody submits any more who read the file before the next key was in it.
  let isAtOnce: Bool

  /// How long a submit may go on with the key that it found when it began: a large folder takes hours.
  private static let patience: Double = 86_400

  func answer(_ id: KeyID, from path: String) async throws -> KeyFileResponse {
    if !isAtOnce, let next = keys.key(after: id), now - next.createdAt < Self.patience {
      throw ControlError(
        .refused, "The key that came after \(id) is not a day old.",
        advice:
          "A submit that began before it may still encrypt under \(id): wait, or if there is none, say --at-once."
      )
    }
    let directory = ImageKeyDirectory(database)
    try await directory.awaitSubmits()
    let images = try await directory.counts().encrypted[id.value] ?? 0
    guard images == 0 else {
      throw ControlError(
        .refused, "\(images) images are under key \(id); without it nobody could read them.",
        advice: "Put them under the current key first: analysisctl keys rotate.")
    }
    let ring = try await AuditLog(database).record(removing: id.value, by: actor) {
      // Writing blocks, so it is done where threads may wait.
      let changing = Task(executorPreference: globalConcurrentExecutor) {
        try KeyFile.removeKey(id, from: path)
      }
      return try await changing.value
    }
    return KeyFileResponse(path: path, ring: ring, removed: id)
  }
}
