internal import EventLoop
public import Images
internal import PostgreSQL
internal import Queue
internal import Support

/// Makes the bytes that are sent of those that are stored: decrypted, if they are encrypted, and cleaned, if they are
/// unsanitized. None is sent that is not the image whose hash the database has: one in plaintext is hashed; an encrypted
/// one is authenticated together with its hash when it is opened.
struct ImageOpener {
  let keys: KeyCache
  let decoders: ImageDecoders
  /// Whether an image in plaintext is refused.
  let requiresEncryption: Bool

  /// Up to this size an image is hashed and decrypted on the loop, which takes a tenth of a millisecond or so. The way
  /// to the pool and back costs as much, which a job alone would feel; where others are in flight, they would wait for
  /// the loop.
  private static let bytesOnLoop = (alone: 256 << 10, besideOthers: 32 << 10)

  private func fitsLoop(_ bytes: Blob, _ isAlone: Bool) -> Bool {
    bytes.count <= (isAlone ? Self.bytesOnLoop.alone : Self.bytesOnLoop.besideOthers)
  }

  /// The bytes to be sent; an image that is cleaned for it follows the rules.
  ///
  /// - Parameter isAlone: whether no other job is in flight.
  func open(
    _ job: ClaimedJob, _ image: StoredImage, _ rules: ImageRules, isAlone: Bool
  ) async throws(UnusableImage) -> [UInt8] {
    guard let encryption = image.encryption else {
      return try await clean(image.bytes.withUnsafeBytes { [UInt8]($0) }, rules, job.requester)
    }
    let plain = try await decrypt(job, image, encryption, isAlone: isAlone)
    return job.isUnsanitized ? try await clean(plain, rules, job.requester) : plain
  }

  // MARK: Checking

  /// Refuses what is stored before anything is made of it: another image than the job's, one in plaintext where none
  /// may be, and one in plaintext that does not have its hash. An encrypted one shows that when it is decrypted.
  ///
  /// - Parameter isAlone: whether no other job is in flight.
  func check(_ ready: ReadyJob, isAlone: Bool) async throws(UnusableImage) {
    try ready.checkImage()
    guard ready.image.encryption == nil else { return }
    guard !requiresEncryption else {
      throw .plaintext(
        "The image of job \(ready.job.id) is in plaintext, which --require-encryption refuses. Submit it anew with "
          + "analysisctl submit --key-file.")
    }
    let image = ready.image
    let digest =
      fitsLoop(image.bytes, isAlone)
      ? image.bytes.withUnsafeBytes { SHA256.digest(of: $0) }
      : await besideLoop { image.bytes.withUnsafeBytes { SHA256.digest(of: $0) } }
    guard digest == image.sha256 else {
      throw .tampered(
        "Job \(ready.job.id): the stored image does not have the hash that is stored with it: one of the two was "
          + "changed, or it was submitted under another image's hash. Submit the image anew.")
    }
  }

  // MARK: Decrypting

  private func decrypt(
    _ job: ClaimedJob, _ image: StoredImage, _ stored: StoredImage.Encryption, isAlone: Bool
  ) async throws(UnusableImage) -> [UInt8] {
    let bytes = image.bytes
    let id = KeyID(stored.storedKey.keyID)
    guard let id, let ring = await keys.keys(with: id, stored.storedKey.keyID) else {
      let name = id?.description ?? "\(stored.storedKey.keyID)"
      throw .keyMissing(
        "The image of job \(job.id) is encrypted under key \(name), and this worker does not have that key. "
          + KeyCache.advice(keys.hasFile))
    }
    let key = WrappedKey(keyID: id, bytes: stored.storedKey.wrappedKey)
    let binding = ImageBinding(userSHA256: stored.userSHA256, sha256: image.sha256)
    do throws(ImageEncryptionError) {
      if fitsLoop(bytes, isAlone) {
        return try bytes.withUnsafeBytes { bytes throws(ImageEncryptionError) in
          try ring.open(bytes, key, binding)
        }
      }
      return try await besideLoop {
        Result { () throws(ImageEncryptionError) in
          try bytes.withUnsafeBytes { bytes throws(ImageEncryptionError) in
            try ring.open(bytes, key, binding)
          }
        }
      }.get()
    } catch {
      let message = "Job \(job.id), image under key \(id): \(error)"
      throw error.code == .tampered ? UnusableImage.tampered(message) : UnusableImage.keyMissing(message)
    }
  }

  // MARK: Cleaning

  /// Cleans an image that came in by SQL, where it could not be cleaned.
  private func clean(
    _ image: [UInt8], _ rules: ImageRules, _ requester: Requester
  ) async throws(UnusableImage) -> [UInt8] {
    do throws(UndecodedImage) {
      return try await decoders.clean(image, limits: ImageLimits().following(rules), for: requester).bytes
    } catch {
      switch error {
      case .refused(let refusal): throw .refused(refusal)
      case .unavailable(let error): throw .undecodable(error)
      case .cancelled: throw .cancelled
      }
    }
  }
}

/// The keys for encrypted images that a worker is given, and where newer ones would be found.
public struct ImageKeys: Sendable {
  /// The keys as they were read at the start.
  let ring: KeyRing
  /// Reads them again, called where a thread may wait: when an image names a key that is not among them.
  public let read: @Sendable () throws(ImageEncryptionError) -> KeyRing

  /// Keys that were read.
  public init(_ ring: KeyRing, read: @escaping @Sendable () throws(ImageEncryptionError) -> KeyRing) {
    self.ring = ring
    self.read = read
  }
}

/// Why a job's image cannot be sent; no call was made.
enum UnusableImage: Error {
  /// It could not be made fit to be sent.
  case refused(ImageRefusal)
  /// It is encrypted under a key that is not here; what happened and what to do.
  case keyMissing(String)
  /// Under the right key it is not what was encrypted, or it is somebody else's; what happened and what to do.
  case tampered(String)
  /// It is in plaintext, and the worker sends encrypted ones only; what happened and what to do.
  case plaintext(String)
  /// No decoder can be started here.
  case undecodable(ImageDecoderError)
  /// The worker is to stop at once.
  case cancelled

  /// By what it is counted; nil where nothing is wrong with the image.
  var reason: String? {
    switch self {
    case .refused(let refusal): refusal.code.rawValue
    case .keyMissing: "key_missing"
    case .tampered: "tampered"
    case .plaintext: "not_encrypted"
    case .undecodable: "no_decoder"
    case .cancelled: nil
    }
  }
}

extension FailedAttempt {
  /// A job whose image cannot be sent; no call was made.
  init(image job: ClaimedJob, _ decision: RetryDecision, _ code: String, _ message: String) {
    self.init(
      lease: job.lease, job: job.id, decision: decision, failureClass: .image, code: code, message: message)
  }

  /// A job whose image could not be made fit to be sent: final, unless the image may be good and only this
  /// machine could not process it.
  static func refusedImage(
    _ job: ClaimedJob, _ refusal: ImageRefusal, by policy: RetryPolicy,
    using generator: inout some RandomNumberGenerator
  ) -> FailedAttempt {
    let decision = policy.decide(
      .image, attempt: job.attempt, maxAttempts: job.maxAttempts, isFinal: refusal.code != .notProcessed,
      using: &generator)
    return FailedAttempt(image: job, decision, "image_refused", refusal.description)
  }
}
