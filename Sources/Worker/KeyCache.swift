internal import EventLoop
internal import Images
internal import Support

/// Holds the keys for encrypted images, and reads them again when an image names one that is not among them: so a key
/// that was added to the file is used without a restart.
///
/// An actor on the event loop, where the calls begin; only the file is read elsewhere.
actor KeyCache {
  private var ring: KeyRing?
  private nonisolated let read: (@Sendable () throws(ImageEncryptionError) -> KeyRing)?
  private let loop: EventLoop
  private let log: Log
  /// Keys that images name and that are missing; each is reported once, until it is there.
  private var missing: Set<Int64> = []
  private var reading: Task<Void, Never>?
  /// Not before, however many images name a key that is not there.
  private var readAgainAt = EventLoop.now

  /// How often the file is looked at for a key that is not there.
  static let interval: Duration = .seconds(5)

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// A cache of keys that were read; without any, none is found.
  init(_ keys: ImageKeys?, loop: EventLoop, log: Log) {
    ring = keys?.ring
    read = keys?.read
    self.loop = loop
    self.log = log
  }

  /// Whether there is a file in which a key may be found later.
  nonisolated var hasFile: Bool { read != nil }

  /// Says which keys there are, if there are any.
  func report() {
    guard let ring else { return }
    log.notice("Encrypted images can be read", Self.fields(ring))
  }

  /// The keys, that of this number among them; nil when there is none of this number.
  func keys(with id: KeyID?, _ number: Int64) async -> KeyRing? {
    if let ring = await found(id) { return ring }
    if missing.insert(number).inserted {
      log.error(
        "Images are encrypted under a key that this worker has not; their jobs wait and none is failed",
        ["key_id": .string(id?.description ?? "\(number)"), "key_file": .string(Self.advice(hasFile))])
    }
    return nil
  }

  /// The same for what is no image: nothing is logged where there is none.
  func found(_ id: KeyID?) async -> KeyRing? {
    if let ring = keys(with: id) { return ring }
    if let read, reading == nil, EventLoop.now >= readAgainAt {
      readAgainAt = EventLoop.now + Self.interval
      reading = Task { await self.readAgain(read) }
    }
    await reading?.value
    return keys(with: id)
  }

  private func keys(with id: KeyID?) -> KeyRing? {
    guard let ring, let id, ring[id] != nil else { return nil }
    return ring
  }

  private func readAgain(_ read: @escaping @Sendable () throws(ImageEncryptionError) -> KeyRing) async {
    let outcome = await besideLoop { Result { () throws(ImageEncryptionError) in try read() } }
    reading = nil
    switch outcome {
    case .failure(let error):
      log.error("The key file cannot be read again", ["reason": .string("\(error)")])
    case .success(let new):
      guard new.ids != ring?.ids else { return }
      ring = new
      for id in new.ids { missing.remove(id.value) }
      log.notice("The key file has changed", Self.fields(new))
    }
  }

  /// What to do about a key that is not there.
  static func advice(_ hasFile: Bool) -> String {
    hasFile
      ? "Put the key into the worker's key file, which is looked at again."
      : "Give the worker the key file with --key-file and start it again."
  }

  private static func fields(_ ring: KeyRing) -> Log.Fields {
    [
      "key_ids": .string(ring.ids.map(\.description).joined(separator: ",")),
      "current": .string(ring.currentID.description),
    ]
  }
}

/// Does on Swift's own threads what would hold up the loop.
func besideLoop<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
  @concurrent func run() async -> R { body() }
  return await withTaskExecutorPreference(globalConcurrentExecutor) { await run() }
}
