import Support

/// The end of the audit's chain as it was at a moment, kept outside of the database.
public struct KeptEnd: Sendable, Equatable {
  /// When it was kept, in seconds since 1970, by the clock of the machine that kept it.
  public let at: Int64
  /// The number of the installation.
  let installation: String
  /// The last entry, its hash, and the oldest entry at that time.
  public let mark: AuditMark

  /// An end with its parts.
  public init(at: Int64, installation: String, mark: AuditMark) {
    self.at = at
    self.installation = installation
    self.mark = mark
  }

  /// Reads a line as `line` writes it; nil for anything else.
  public init?(_ line: String) {
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard words.count == 3, let at = WrittenTime(words[0])?.secondsSince1970,
      words[1].utf8.count == 36, words[1].utf8.allSatisfy({ "0123456789abcdef-".utf8.contains($0) }),
      let mark = AuditMark(words[2])
    else { return nil }
    self.init(at: Int64(at), installation: words[1], mark: mark)
  }

  /// Time, installation and mark: `2026-11-23T06:30:00Z 3f0c… 812:9f86…:1:1795255200`.
  public var line: String { "\(time) \(installation) \(mark)" }

  /// When it was kept, as people read it.
  var time: String { UnixTime(seconds: at).rfc3339Seconds }
}

/// What is kept of an installation's ends, as it was read.
public struct KeptEnds: Sendable, Equatable {
  /// The ends, in the order in which they were kept.
  public let ends: [KeptEnd]
  /// How many lines are none.
  let otherLines: Int

  /// Reads lines.
  public init(_ lines: [String]) {
    ends = lines.compactMap(KeptEnd.init)
    otherLines = lines.count - ends.count
  }
}
