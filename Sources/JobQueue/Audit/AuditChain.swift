/// An entry's place and hash: the chain's end, or one that was kept elsewhere.
public struct AuditMark: Sendable, Equatable, CustomStringConvertible {
  /// The entry's number; 0 before the first.
  public let id: Int64
  /// Its hash, as 64 hexadecimal digits.
  public let hash: String

  /// A mark with its parts.
  public init(id: Int64, hash: String) {
    self.id = id
    self.hash = hash
  }

  /// Reads `ID:HASH`; nil for anything else.
  public init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let id = Int64(parts[0]), id >= 0,
      parts[0].utf8.allSatisfy({ (48...57).contains($0) }),
      parts[1].utf8.count == 64, parts[1].allSatisfy(\.isHexDigit), parts[1].utf8.allSatisfy({ $0 < 128 })
    else { return nil }
    self.init(id: id, hash: parts[1].lowercased())
  }

  /// `ID:HASH`.
  public var description: String { "\(id):\(hash)" }
}

/// What was found when the chain of the audit was verified.
public struct AuditVerdict: Sendable, Equatable {
  /// Something that does not fit.
  public struct Fault: Sendable, Equatable {
    /// The entry; nil for the chain as a whole.
    public let id: Int64?
    /// What is wrong with it.
    public let words: String

    /// A fault with its parts.
    public init(id: Int64?, words: String) {
      self.id = id
      self.words = words
    }
  }

  /// The oldest entry that is kept.
  public let first: Int64
  /// The chain's end; nil when that itself is missing.
  public let end: AuditMark?
  /// What does not fit, the oldest first; empty when the chain is whole.
  public let faults: [Fault]

  /// A verdict with its parts.
  public init(first: Int64, end: AuditMark?, faults: [Fault]) {
    self.first = first
    self.end = end
    self.faults = faults
  }

  /// How many entries are kept.
  public var count: Int64 { end.map { $0.id - first + 1 } ?? 0 }
}
