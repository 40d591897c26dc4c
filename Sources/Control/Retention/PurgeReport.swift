import Support

/// What a purge removed, or would remove.
struct PurgeReport: Sendable, Equatable {
  /// What is kept for a time.
  enum Kind: String, Sendable, CaseIterable {
    /// The bytes of images.
    case images
    /// Jobs that died.
    case dead
    /// Results and cancellations, with their jobs.
    case results
    /// Events that were sent to webhooks.
    case events
    /// The counters of months.
    case usage
    /// Entries of the audit.
    case audit
  }

  /// What went of one kind and month.
  struct Line: Sendable, Equatable {
    /// The kind.
    let kind: Kind
    /// The month in which it counted, was written, or its job ended.
    let month: Period
    /// How many.
    var rows: Int64
    /// Their size.
    var bytes: Int64
    /// Whether the month went as a whole, with everything in it.
    var isWholeMonth: Bool

    /// A line with its parts.
    init(kind: Kind, month: Period, rows: Int64, bytes: Int64, isWholeMonth: Bool = false) {
      self.kind = kind
      self.month = month
      self.rows = rows
      self.bytes = bytes
      self.isWholeMonth = isWholeMonth
    }
  }

  /// What went, by kind and month.
  var lines: [Line] = []
  /// Months that were to go as a whole, and whose tables somebody held for too long: for the next run.
  var busyMonths: [Period] = []
  /// Months of which something is past its time and stays, since they could be closed and are not.
  var unclosedMonths: [Period] = []
  /// Whether it came to its end, and was not told to stop before.
  var isComplete = true

  /// A report with its parts.
  init(
    lines: [Line] = [], busyMonths: [Period] = [], unclosedMonths: [Period] = [], isComplete: Bool = true
  ) {
    self.lines = lines
    self.busyMonths = busyMonths
    self.unclosedMonths = unclosedMonths
    self.isComplete = isComplete
  }

  /// Whether nothing of a kind has gone yet.
  func isWithout(_ kind: Kind, _ month: Period? = nil) -> Bool {
    !lines.contains { $0.kind == kind && (month == nil || $0.month == month) && $0.rows > 0 }
  }

  /// How many of a kind and month have gone.
  func rows(_ kind: Kind, _ month: Period) -> Int64 {
    lines.first { $0.kind == kind && $0.month == month }?.rows ?? 0
  }

  /// Adds what went.
  mutating func add(_ kind: Kind, _ month: Period, rows: Int64, bytes: Int64, isWholeMonth: Bool = false) {
    guard rows > 0 || isWholeMonth else { return }
    if let index = lines.firstIndex(where: { $0.kind == kind && $0.month == month }) {
      lines[index].rows += rows
      lines[index].bytes += bytes
      lines[index].isWholeMonth = lines[index].isWholeMonth || isWholeMonth
    } else {
      lines.append(Line(kind: kind, month: month, rows: rows, bytes: bytes, isWholeMonth: isWholeMonth))
    }
  }

  /// The lines by kind and month.
  mutating func sort() {
    let order = Dictionary(uniqueKeysWithValues: Kind.allCases.enumerated().map { ($1, $0) })
    lines.sort { (order[$0.kind] ?? 0, $0.month) < (order[$1.kind] ?? 0, $1.month) }
  }
}
