internal import AnalysisCore
internal import EventLoop
internal import ImageDecoding
internal import ImageEncryption
internal import Images
internal import JobQueue
internal import PostgreSQL

/// Makes the bytes that are sent of those that are stored: decrypted, if they are encrypted, and cleaned, if they are
/// unsanitized.
struct ImageOpener {
  let keys: KeyCache
  let decoders: ImageDecoders

  /// Up to this size an image is decrypted on the loop, which takes a tenth of a millisecond or so: the way to
  /// the pool and back costs as much for a usual one, and more processor.
  static let bytesOnLoop = 256 << 10

  /// The bytes to be sent.
  func open(_ job: ClaimedJob, _ image: StoredImage) async throws(UnusableImage) -> [UInt8] {
    guard let encryption = image.encryption else {
      return try await clean(image.bytes.withUnsafeBytes { [UInt8]($0) })
    }
    let plain = try await decrypt(job, image.bytes, encryption)
    return job.isUnsanitized ? try await clean(plain) : plain
  }

  // MARK: Decrypting

  private func decrypt(
    _ job: ClaimedJob, _ bytes: Blob, _ stored: StoredImage.Encryption
  ) async throws(UnusableImage) -> [UInt8] {
    let id = KeyID(stored.storedKey.keyID)
    guard let id, let ring = await keys.keys(with: id, stored.storedKey.keyID) else {
      let name = id?.description ?? "\(stored.storedKey.keyID)"
      throw .locked(
        "The image of job \(job.id) is encrypted under key \(name), which this worker has not. "
          + KeyCache.advice(keys.hasFile))
    }
    let key = WrappedKey(keyID: id, bytes: stored.storedKey.wrappedKey)
    let binding = ImageBinding(userSHA256: stored.userSHA256, sha256: stored.sha256)
    do throws(ImageEncryptionError) {
      guard bytes.count > Self.bytesOnLoop else { return try Self.open(bytes, ring, key, binding) }
      let result = await withTaskExecutorPreference(globalConcurrentExecutor) {
        await Self.openOnPool(bytes, ring, key, binding)
      }
      return try result.get()
    } catch {
      let words = "Job \(job.id), image under key \(id): \(error)"
      throw error.code == .tampered ? UnusableImage.tampered(words) : UnusableImage.locked(words)
    }
  }

  @concurrent
  private static func openOnPool(
    _ bytes: Blob, _ ring: KeyRing, _ key: WrappedKey, _ binding: ImageBinding
  ) async -> Result<[UInt8], ImageEncryptionError> {
    Result { () throws(ImageEncryptionError) in try open(bytes, ring, key, binding) }
  }

  private static func open(
    _ bytes: Blob, _ ring: KeyRing, _ key: WrappedKey, _ binding: ImageBinding
  ) throws(ImageEncryptionError) -> [UInt8] {
    try bytes.withUnsafeBytes { bytes throws(ImageEncryptionError) in try ring.open(bytes, key, binding) }
  }

  // MARK: Cleaning

  /// Cleans an image that came in by SQL, where it could not be cleaned.
  private func clean(_ image: [UInt8]) async throws(UnusableImage) -> [UInt8] {
    do throws(UndecodedImage) {
      return try await decoders.clean(image).bytes
    } catch {
      switch error {
      case .refused(let refusal): throw .refused(refusal)
      case .unavailable(let error): throw .undecodable(error)
      case .cancelled: throw .cancelled
      }
    }
  }
}
