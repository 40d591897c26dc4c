import CommandLineTool
import EventLoop
import Images
import PostgreSQL
import Queue
import Support

/// Reads, cleans and encrypts images, a few at a time.
struct ImageIntake: Sendable {
  /// An item whose image is ready, or refused.
  struct Prepared: Sendable {
    let item: SubmitItem
    let image: Result<ReadyImage, Refused>

    /// Whether the image itself is refused.
    var isRefused: Bool {
      guard case .failure(let refused) = image else { return false }
      return !refused.wasCancelled && refused.fault == nil
    }

    /// Why no image can be cleaned or stored here, if that is so.
    var fault: (any Error)? { if case .failure(let refused) = image { refused.fault } else { nil } }
  }

  /// An image as it is to be submitted: clean, and encrypted if there are keys.
  struct ReadyImage: Sendable {
    let image: SubmittedImage
    /// How many bytes are to be sent with the submit.
    let byteCount: Int
    let isBelowModelSide: Bool
  }

  struct Refused: Error {
    let refusal: Refusal
    /// Whether nobody waited for it any more, which says nothing of the image.
    var wasCancelled = false
    /// Why no image can be cleaned or stored here, which says nothing of this one.
    var fault: (any Error)?
  }

  private let limits: ImageLimits
  /// What is sent of each type's images.
  private let rules: [AnalysisKind: ImageRules]
  private let decoders: ImageDecoders
  /// Under what images are encrypted; nil to leave them in plaintext.
  private let keys: KeyRing?
  /// Where images by URL come from; nil where there are none.
  private let remote: RemoteImageCache?
  /// Where images are written that are to be submitted; nil: to the database.
  var newImages: NewImages?
  /// How many are worked on at once.
  private let width: Int
  /// A chunk is full when it has so many bytes of clean images.
  private let chunkBytes: Int
  /// A chunk is full when it has so many items.
  private let chunkCount: Int

  init(
    limits: ImageLimits, rules: [AnalysisKind: ImageRules] = [:], decoders: ImageDecoders = ImageDecoders(),
    keys: KeyRing? = nil, remote: RemoteImageCache? = nil, width: Int = 4, chunkBytes: Int = 8_000_000,
    chunkCount: Int = 200
  ) {
    self.limits = limits
    self.rules = rules
    self.decoders = decoders
    self.keys = keys
    self.remote = remote
    self.width = max(1, width)
    self.chunkBytes = chunkBytes
    self.chunkCount = chunkCount
  }

  /// Prepares the next items, in their order, until a chunk is full, the items are used up, no image can be cleaned
  /// here, or `isStopped` says so.
  ///
  /// No more than a chunk and what is being worked on is ever in memory.
  func chunk(_ items: ArraySlice<SubmitItem>, isStopped: @Sendable () -> Bool) async -> [Prepared] {
    await withTaskGroup(of: (Int, Prepared).self) { group in
      var done: [(Int, Prepared)] = []
      var bytes = 0
      var next = items.startIndex
      var running = 0
      var isFaulty = false
      while true {
        while running < width, !isFaulty, next < items.endIndex, bytes < chunkBytes,
          next - items.startIndex < chunkCount, !isStopped()
        {
          let (index, item) = (next, items[next])
          // Reading and encrypting take long: neither may keep the event loop's thread.
          group.addTask(executorPreference: globalConcurrentExecutor) { (index, await prepare(item)) }
          next += 1
          running += 1
        }
        guard let (index, prepared) = await group.next() else { break }
        running -= 1
        if case .success(let image) = prepared.image { bytes += image.byteCount }
        isFaulty = isFaulty || prepared.fault != nil
        done.append((index, prepared))
      }
      return done.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  private func prepare(_ item: SubmitItem) async -> Prepared {
    do throws(Refused) {
      return Prepared(item: item, image: .success(try await stored(try await clean(item), of: item)))
    } catch {
      return Prepared(item: item, image: .failure(error))
    }
  }

  /// Encrypts an image and, where new ones go to an object store, writes it there: before its submit, which names it.
  private func stored(_ image: CleanImage, of item: SubmitItem) async throws(Refused) -> ReadyImage {
    let kept: KeptImage
    do throws(ImageEncryptionError) {
      // Without a user there is nobody to bind it to, and it is refused for that.
      kept = try KeptImage(image.bytes, of: item.user ?? "", item.user == nil ? nil : keys)
    } catch {
      throw Refused(
        refusal: Refusal(code: "not_encrypted", sentence: error.message, advice: error.advice))
    }
    let storedKey = kept.key.map { StoredKey(keyID: $0.keyID.value, wrappedKey: $0.bytes) }
    do throws(ImageStoreError) {
      if item.user != nil, let object = try await newImages?.put(kept.bytes, sha256: kept.sha256) {
        return ReadyImage(
          image: .object(
            object, sha256: kept.sha256, width: image.width, height: image.height, storedKey: storedKey),
          byteCount: 0, isBelowModelSide: image.isBelowModelSide)
      }
    } catch {
      throw Refused(
        refusal: Refusal(code: "not_stored", sentence: error.message, advice: error.advice), fault: error)
    }
    return ReadyImage(
      image: .bytes(
        kept.bytes, sha256: kept.sha256, width: image.width, height: image.height, storedKey: storedKey),
      byteCount: kept.bytes.count, isBelowModelSide: image.isBelowModelSide)
  }

  private func clean(_ item: SubmitItem) async throws(Refused) -> CleanImage {
    let limits = limits.following(item.kind.flatMap { rules[$0] } ?? .usual)
    do {
      switch item.source {
      case .none(let refusal): throw Refused(refusal: refusal)
      case .bytes(let bytes): return try await decoders.clean(bytes, limits: limits)
      case .url(let url):
        // Judged like a file, by its bytes alone.
        return try await decoders.clean(fetch(url), limits: limits)
      case .file(let path):
        return try await decoders.clean(InputFile.read(path, limit: limits.maxBytes), limits: limits)
      }
    } catch let refused as Refused {
      throw refused
    } catch let fault as InputFile.Fault where fault.code == ImageRefusal.Code.fileTooLarge.rawValue {
      // The same message as for what came from elsewhere.
      let refusal = ImageRefusal.fileTooLarge(bytes: fault.size, limit: limits.maxBytes)
      throw Refused(refusal: Refusal(code: fault.code, sentence: refusal.message, advice: nil))
    } catch let fault as InputFile.Fault {
      throw Refused(
        refusal: Refusal(code: fault.code, sentence: fault.sentence, advice: fault.advice))
    } catch let error as RemoteImageError {
      throw Refused(
        refusal: Refusal(code: error.code.rawValue, sentence: error.message, advice: error.advice),
        wasCancelled: error.code == .cancelled || error.code == .closed)
    } catch UndecodedImage.refused(let refusal) {
      throw Refused(
        refusal: Refusal(code: refusal.code.rawValue, sentence: refusal.message, advice: nil))
    } catch UndecodedImage.unavailable(let fault) {
      throw Refused(
        refusal: Refusal(code: "no_decoder", sentence: fault.description, advice: nil), fault: fault)
    } catch UndecodedImage.cancelled {
      throw Refused(
        refusal: Refusal(code: "cancelled", sentence: "the command was ended", advice: nil),
        wasCancelled: true)
    } catch {
      throw Refused(refusal: Refusal(code: "not_processed", sentence: "\(error)", advice: nil))
    }
  }

  private func fetch(_ url: String) async throws -> [UInt8] {
    guard let remote else { throw RemoteImageArguments.notEnabled }
    return try await remote.image(at: url)
  }
}

/// What was found in a photo, as `submit --results` shows and writes it.
enum PhotoFinding: Sendable, Equatable {
  case found(StoredResult)
  /// There is one that this login may not read, or none is kept any more.
  case notShown

  /// The conditions, the likeliest first: `Tonsillitis 83% (red), Normal 21% (normal)`.
  func text(_ paint: Paint) -> String {
    guard case .found(let result) = self else { return "its result is not shown to this login" }
    let conditions = StoredCondition.read(result.conditionsJSON)
    guard !conditions.isEmpty else { return "no condition was found" }
    return conditions.map { condition in
      let mark = condition.mark
      let text = "\(printable(condition.name)) \(condition.percentage ?? "") (\(mark?.rawValue ?? ""))"
      return mark?.colour.map { paint(text, $0) } ?? text
    }.joined(separator: ", ")
  }

  var json: JSONValue {
    if case .found(let result) = self { result.json } else { .null }
  }
}

/// A file with the findings of a run, a line for each condition of each photo.
enum FindingsFile {
  private static let header = [
    "file", "user", "type", "reference", "job", "state", "condition", "confidence", "band", "serious",
    "consult",
  ]

  /// Writes the file whole, or not at all.
  static func write(_ results: [SubmitResult], to path: String) async throws {
    let bytes = csv(results)
    let outcome = await HelperThread.value {
      Result { () throws(SystemError) in
        var file = try AtomicFile(path)
        try file.write(bytes)
        _ = try file.commit()
      }
    }
    guard let outcome else { throw CommandFailure(.tryLater, "the system has no thread left") }
    try outcome.get()
  }

  static func csv(_ results: [SubmitResult]) -> [UInt8] {
    var bytes: [UInt8] = []
    row(header, into: &bytes)
    for result in results where result.job != nil {
      let item = result.item
      let known = [
        item.name, item.user, item.kind?.rawValue, item.reference, result.job?.description,
        result.state?.rawValue,
      ]
      for condition in conditions(result) { row(known + condition, into: &bytes) }
    }
    return bytes
  }

  /// The cells of each condition; empty ones for a job without any.
  private static func conditions(_ result: SubmitResult) -> [[String?]] {
    guard case .found(let stored)? = result.finding else { return [[nil, nil, nil, nil, nil]] }
    let flags = [stored.isSerious, stored.advisesConsultation].map { $0.map { $0 ? "true" : "false" } }
    let conditions = StoredCondition.read(stored.conditionsJSON)
    guard !conditions.isEmpty else { return [[nil, nil, nil] + flags] }
    return conditions.map { [$0.name, String($0.confidence), $0.mark?.rawValue ?? ""] + flags }
  }

  private static func row(_ cells: [String?], into bytes: inout [UInt8]) {
    for (index, cell) in cells.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      if let cell { CSVText.append(cell, to: &bytes) }
    }
    bytes.append(contentsOf: "\r\n".utf8)
  }
}
