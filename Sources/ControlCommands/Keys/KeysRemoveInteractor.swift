import CommandLineTool
import ImageEncryption
import JobQueue
import PostgreSQL

/// Removes a key under which nothing is.
struct KeysRemoveInteractor: Sendable {
  let database: ConnectionPool
  /// Who does it, for the audit.
  let actor: AuditActor

  func answer(_ id: KeyID, from path: String) async throws -> KeyFileResponse {
    let images = try await ImageKeyDirectory(database).counts().sealed[id.value] ?? 0
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
