internal import Synchronization

/// A file that a client has sent, with what stood beside it.
public final class HTTPUpload: Sendable {
  /// The text that was sent beside it.
  public let field: [UInt8]?
  /// How many bytes the file has, whether they were kept or not.
  public let fileCount: Int
  /// How many parts of the file's name there were.
  public let files: Int
  /// Whether a file came under another name.
  public let hasUnknownFile: Bool
  /// Whether the form had an end.
  public let isWhole: Bool
  private let file: Mutex<[UInt8]>
  private let lease: BodyLease

  init(_ upload: MultipartUpload, _ lease: BodyLease) {
    field = upload.field
    fileCount = upload.fileCount
    files = upload.files
    hasUnknownFile = upload.hasUnknownFile
    isWhole = upload.isWhole
    file = Mutex(upload.takeFile())
    self.lease = lease
  }

  /// Gives the file away; it is not kept here any longer.
  public func takeFile() -> [UInt8] {
    file.withLock { file in
      defer { file = [] }
      return file
    }
  }

  /// Says that what was made of the file is in memory no more: others may send theirs.
  public func release() { lease.end() }
}

/// The memory that the bodies of all requests may take together.
final class BodyBudget: Sendable {
  private let left: Mutex<Int>

  init(_ bytes: Int) {
    left = Mutex(bytes)
  }

  fileprivate func take(_ count: Int) -> Bool {
    left.withLock { left in
      guard count <= left else { return false }
      left -= count
      return true
    }
  }

  fileprivate func giveBack(_ count: Int) {
    left.withLock { $0 += count }
  }
}

/// One body's part of the memory.
final class BodyLease: Sendable {
  private let budget: BodyBudget
  private let held = Mutex<Held>(Held())

  private struct Held {
    var bytes = 0
    var isOver = false
    /// What is kept as long as it is not over.
    var kept: [any Sendable] = []
  }

  init(_ budget: BodyBudget) {
    self.budget = budget
  }

  deinit { end() }

  /// Takes as much as is needed for so many bytes; false where there is not enough left.
  func grow(to bytes: Int) -> Bool {
    held.withLock { held in
      guard !held.isOver else { return false }
      guard bytes > held.bytes else { return true }
      guard budget.take(bytes - held.bytes) else { return false }
      held.bytes = bytes
      return true
    }
  }

  /// Keeps something until it is over.
  func keep(_ kept: any Sendable) {
    held.withLock { held in
      if !held.isOver { held.kept.append(kept) }
    }
  }

  /// Gives back all of it. A second call does nothing.
  func end() {
    let ended = held.withLock { held in
      defer { held = Held(isOver: true) }
      return held
    }
    if ended.bytes > 0 { budget.giveBack(ended.bytes) }
  }
}
