/// An entry's number and hash: the chain's end, or one that was kept elsewhere.
public struct AuditMark: Sendable, Equatable, CustomStringConvertible {
  /// The oldest entry that there was when an end was printed. It has to be there for a year at least.
  public struct Oldest: Sendable, Equatable {
    /// Its number.
    public let id: Int64
    /// When it was written, in whole seconds since 1970.
    public let at: Int64

    /// An entry with its number and time.
    public init(id: Int64, at: Int64) {
      self.id = id
      self.at = at
    }
  }

  /// The entry's number; 0 before the first.
  public let id: Int64
  /// Its hash, as 64 hexadecimal digits.
  public let hash: String
  /// The oldest entry at that time; nil when there was none, or none was kept.
  let oldest: Oldest?

  /// A mark with its parts.
  public init(id: Int64, hash: String, oldest: Oldest? = nil) {
    self.id = id
    self.hash = hash
    self.oldest = oldest
  }

  /// Reads `ID:HASH` or `ID:HASH:OLDEST:TIME`; nil for anything else.
  public init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2 || parts.count == 4, let id = Self.number(parts[0]),
      parts[1].utf8.count == 64, parts[1].allSatisfy(\.isHexDigit), parts[1].utf8.allSatisfy({ $0 < 128 })
    else { return nil }
    var oldest: Oldest?
    if parts.count == 4 {
      guard let first = Self.number(parts[2]), let at = Self.number(parts[3]) else { return nil }
      oldest = Oldest(id: first, at: at)
    }
    self.init(id: id, hash: parts[1].lowercased(), oldest: oldest)
  }

  private static func number(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy { (48...57).contains($0) } ? Int64(text) : nil
  }

  /// `ID:HASH`, and where an oldest entry is known `:OLDEST:TIME`.
  public var description: String {
    "\(id):\(hash)" + (oldest.map { ":\($0.id):\($0.at)" } ?? "")
  }
}

/// What was found when the chain of the audit was verified.
public struct AuditVerdict: Sendable, Equatable {
  /// Something that does not fit.
  public struct Fault: Sendable, Equatable {
    /// The entry; nil for the chain as a whole.
    public let id: Int64?
    /// What is wrong with it.
    public let message: String

    /// A fault with its parts.
    public init(id: Int64?, message: String) {
      self.id = id
      self.message = message
    }
  }

  /// The ends of this installation with which it was compared.
  public struct Kept: Sendable, Equatable {
    /// How many there are.
    public let count: Int
    /// The latest of them; nil when there is none.
    public let last: KeptEnd?

    /// Ends in any order; of those of one second the latest is that of the latest entry.
    init(_ ends: [KeptEnd]) {
      count = ends.count
      last = ends.max { ($0.at, $0.mark.id) < ($1.at, $1.mark.id) }
    }
  }

  /// The oldest entry that is kept.
  public let first: Int64
  /// The chain's end; nil when that itself is missing.
  public let end: AuditMark?
  /// How many entries are committed and not chained yet.
  let pending: Int
  /// For how many seconds the oldest of them has waited; nil when there is none.
  let oldestPending: Double?
  /// The ends that were kept; nil when it was not compared with any.
  public let kept: Kept?
  /// What does not fit, the oldest first; empty when the chain is whole.
  public let faults: [Fault]

  /// A verdict with its parts.
  public init(
    first: Int64, end: AuditMark?, pending: Int = 0, oldestPending: Double? = nil, kept: Kept? = nil,
    faults: [Fault]
  ) {
    self.first = first
    self.end = end
    self.pending = pending
    self.oldestPending = oldestPending
    self.kept = kept
    self.faults = faults
  }

  /// How many entries are kept.
  public var count: Int64 { end.map { $0.id - first + 1 } ?? 0 }
}
