internal import EventLoop
internal import Images
internal import PostgreSQL
internal import Queue
internal import Support
internal import Synchronization

/// Takes photos into the queue: each is cleaned in `image-decoder`, encrypted where there are keys, and submitted.
struct PhotoIntake: Sendable {
  /// A photo of a user.
  struct Photo: Sendable {
    let kind: AnalysisKind
    let bytes: [UInt8]
    /// Under which a repeat is the same job; nil: the same photo is, for a day.
    let key: String?
  }

  /// A photo that was taken in: its job, and what its user has used of the month's limit; nil for a photo that was there.
  struct Accepted: Sendable {
    let job: JobID
    let used, limit: Int?
  }

  /// How long a submit is tried again while the database is away.
  private static let patience: Duration = .seconds(15)

  let database: ConnectionPool
  let limits: ImageLimits
  let keys: KeyRing?
  let rules: SentImageRules
  let workers: HintSender<Int16>
  let decoders = ImageDecoders()
  let log: Log

  /// Puts a photo into the queue and answers its job; the same job for a repeat. Workers are woken with it, or soon.
  ///
  /// - Parameter renamed: Asks for the user anew, where the queue calls them by another name by now.
  /// - Throws: `APIFailure`, or `JobQueueError`.
  func submit(
    _ photo: Photo, of user: AppUser, _ token: AppToken, renamed: () async throws -> AppUser
  ) async throws -> Accepted {
    let clean = try await clean(photo, of: UserKey(shard: token.shard, id: user.id))
    switch try await submit(clean, photo, of: user, token) {
    case .failure(let refusal) where refusal.code == Refusal.Reason.unknownUser.rawValue:
      let user = try await renamed()
      return try failing(try await submit(clean, photo, of: user, token))
    case let outcome: return try failing(outcome)
    }
  }

  private func failing(_ outcome: Result<Accepted, RefusedSubmit>) throws -> Accepted {
    switch outcome {
    case .success(let accepted): return accepted
    case .failure(let refused):
      let refusal = Refusal(
        code: refused.code, user: "of the token", limit: refused.limit, used: refused.used)
      let failure = APIFailure(refusal)
      // What is no fault of the app is the operator's to know.
      if failure.status >= 500 {
        log.error("A photo was refused by the queue", ["reason": .string(refused.code)])
      }
      throw failure
    }
  }

  private func clean(_ photo: Photo, of user: UserKey) async throws -> CleanImage {
    do throws(UndecodedImage) {
      return try await decoders.clean(
        photo.bytes, limits: limits.following(rules.rules(of: photo.kind)),
        for: Requester(Lane(photo.kind, .normal), user))
    } catch {
      switch error {
      case .refused(let refusal): throw APIFailure(refusal, limit: limits.maxBytes)
      case .cancelled: throw CancellationError()
      case .unavailable(let fault):
        log.error("No photo can be cleaned", ["error": .string(fault.description)])
        throw APIFailure.internalFailure
      }
    }
  }

  private struct Submitted: Decodable {
    let outcome: String
    let reason: String?
    let job: JobID?
    let limit, used: Int?
    let woken: Bool?
  }

  private struct RefusedSubmit: Error {
    let code: String
    let limit: Int?
    let used: Int?
  }

  private func submit(
    _ clean: CleanImage, _ photo: Photo, of user: AppUser, _ token: AppToken
  ) async throws -> Result<Accepted, RefusedSubmit> {
    let stored: KeptImage
    do throws(ImageEncryptionError) {
      stored = try KeptImage(clean.bytes, of: user.reference, keys)
    } catch {
      log.error("A photo cannot be encrypted", ["error": .string(error.message)])
      throw APIFailure.internalFailure
    }
    let object: ImageObject?
    do throws(ImageStoreError) {
      object = try await rules.newImages?.put(stored.bytes, sha256: stored.sha256)
    } catch {
      log.error("A photo cannot be stored", ["error": .string(error.description)])
      throw APIFailure.busy
    }
    let statement = Statement(
      SQLFunction("gateway_submit", 10),
      [
        .int16(token.shard), .bytes(token.hash), .text(user.reference), .int16(photo.kind.code),
        .bytes(stored.sha256), .bytes(object.map { Array($0.key.utf8) } ?? stored.bytes),
        .array(
          ([clean.width, clean.height] + (object.map { [$0.byteCount] } ?? [])).map(Int32.init(clamping:))),
        .text(photo.key),
        .int64(stored.key?.keyID.value), .bytes(stored.key?.bytes),
      ], as: Submitted.self, while: "submitting a photo"
    ) { row -> Result<Accepted, RefusedSubmit> in
      guard ["created", "duplicate"].contains(row.outcome) else {
        return .failure(RefusedSubmit(code: row.reason ?? "other", limit: row.limit, used: row.used))
      }
      guard let job = row.job else { throw UnknownValue("job", row.outcome) }
      if row.woken == false { workers.add([token.shard]) }
      return .success(Accepted(job: job, used: row.used, limit: row.limit))
    }
    return try await persistently { () async throws(JobQueueError) in try await statement.run(on: database) }
  }

  /// Does it again after a passing failure, for as long as patience lasts: a repeat is the same job.
  private func persistently<R>(_ body: () async throws(JobQueueError) -> R) async throws -> R {
    let until = EventLoop.now + Self.patience
    var retries = RetryPauses(.database)
    while true {
      do throws(JobQueueError) {
        return try await body()
      } catch {
        let delay = retries.next()
        guard error.isTemporary, EventLoop.now + delay < until else { throw error }
        try await database.loop.sleep(for: delay)
      }
    }
  }
}

/// What is sent of the images of each type and where new ones go, as the database's settings say now.
final class SentImageRules: Sendable {
  private static let every: Duration = .seconds(60)
  private let known = Mutex<([AnalysisKind: ImageRules], NewImages?)>(([:], nil))
  private let store: ImageStore?
  private let hasKeys: Bool

  /// - Parameters:
  ///   - store: the object store that this program was given.
  ///   - hasKeys: whether images are encrypted here.
  init(store: ImageStore?, hasKeys: Bool) {
    self.store = store
    self.hasKeys = hasKeys
  }

  func rules(of kind: AnalysisKind) -> ImageRules { known.withLock { $0.0[kind] } ?? .usual }

  /// Where new images go; nil: to the database.
  var newImages: NewImages? { known.withLock { $0.1 } }

  func read(_ database: ConnectionPool) async throws(JobQueueError) {
    let rules = try await ShardDirectory(database).imageRules()
    let newImages = try await NewImages.read(database, store: store, hasKeys: hasKeys)
    known.withLock { $0 = (rules, newImages) }
  }

  /// Reads them again and again, until the task is cancelled.
  func keep(_ database: ConnectionPool) async {
    while (try? await database.loop.sleep(for: Self.every)) != nil { try? await read(database) }
  }
}
