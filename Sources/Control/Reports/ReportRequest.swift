import Support

/// What is asked of a reporter.
struct ReportRequest: Sendable {
  /// The question.
  var kind: ReportKind
  /// The month in which the jobs count. It is each user's own: their billing zone decided it when the job
  /// was submitted.
  var month: Period
  /// The last of the months of a report of reviews; nil for one month. No other report looks at it.
  var lastMonth: Period?
  /// The IANA zone in which times are shown; nil for each user's billing zone. It changes no number.
  var zone: String?
  /// How the answer is written.
  var format: ReportFormat
  /// Whether CSV begins with a byte order mark, by which spreadsheets know UTF-8.
  var excel: Bool
  /// How many columns a terminal has for the table; nil for as many as the table needs.
  var width: Int?
  /// Whose usage a report of usage has, and in which rows; no other report looks at it.
  private(set) var scope: UsageScope

  /// A request.
  init(
    _ kind: ReportKind, month: Period, zone: String? = nil, format: ReportFormat = .table,
    excel: Bool = false, width: Int? = nil, scope: UsageScope = UsageScope(), lastMonth: Period? = nil
  ) {
    self.kind = kind
    self.month = month
    self.lastMonth = kind.isOfReviews && lastMonth != month ? lastMonth : nil
    self.zone = zone
    self.format = format
    self.excel = excel
    self.width = width
    self.scope = scope
    // What programs read has had a line for every user since it was released, and who is asked for by name is shown.
    if format != .table || scope.user != nil { self.scope.hasIdleUsers = true }
  }
}

extension ReportRequest {
  /// What the report is of, in words: a month or some days.
  var span: String {
    groups?.dayText ?? lastMonth.map { "\(month) to \($0)" } ?? month.description
  }

  /// Whether it is of a month that is a draft or closed. What is added up, and what was said of analyses, is as it is
  /// now.
  var hasState: Bool { groups == nil && !kind.isOfReviews }

  /// The months behind the first of a report of several.
  var laterMonths: [Period] {
    guard let lastMonth, lastMonth > month else { return [] }
    return ((month.label + 1)...lastMonth.label).compactMap { Period(label: $0) }
  }

  /// How units are added up; nil for a report that has no such rows.
  var groups: UsageScope.Groups? { kind == .usage ? scope.groups : nil }
}

/// Which question a report answers.
enum ReportKind: String, Sendable, CaseIterable {
  /// What each user used of the month's quota, and by which they are billed: a row a user.
  case usage
  /// What was found in each photo: a row an analysis.
  case analyses
  /// How often each condition was found, and how surely: a row a condition.
  case conditions
  /// The month's totals: a row a number.
  case summary
  /// How often clinicians agree with what was found: a row a condition and band.
  case agreement
  /// Whether a confidence says how often they agree: a row a tenth.
  case calibration
}

extension ReportKind {
  /// Whether it tells what was found in people's pictures, so that it has to be recorded who reads it.
  var hasDiagnoses: Bool { self == .analyses || self == .conditions || isOfReviews }

  /// Whether it adds up what clinicians say of analyses.
  var isOfReviews: Bool { self == .agreement || self == .calibration }
}

/// How a report is written.
enum ReportFormat: String, Sendable, CaseIterable {
  /// Aligned columns for people.
  case table
  /// Comma-separated values as RFC 4180 has them.
  case csv
  /// One JSON object with the rows and what they are.
  case json
}

/// Where a report goes.
enum ReportDestination: Sendable {
  /// A file that is written beside its place, synced and renamed into it, readable by its owner only, with
  /// a file of the same name and `.json` that says what it holds.
  case file(String)
  /// A function that takes chunks of whole lines, each valid UTF-8 by itself. What it throws ends the
  /// report.
  case stream(@Sendable (_ chunk: [UInt8]) throws -> Void)
}

/// What became of a report.
struct ReportOutcome: Sendable, Equatable {
  /// The three ends that an exit code tells apart.
  enum Kind: Sendable, Equatable {
    /// The report was written.
    case written
    /// The file holds exactly this closed statement already, and was not touched.
    case nothingToDo
    /// The report was written as a draft although its month is over, and jobs of the month are open.
    case openJobs
  }

  /// How it ended.
  let kind: Kind
  /// How many rows the report has, its header not counted.
  let rows: Int
  /// Whether the month is closed.
  let state: ReportState
  /// How many jobs of the month have neither a result nor died; counted only for a draft of a
  /// month that is over, else 0.
  let openJobs: Int
  /// The SHA-256 of the file's bytes as hexadecimal digits; nil when a stream was written.
  let sha256: String?
  /// Since when results of the month have been removed, in seconds since 1970: the report holds what is left of them.
  /// Nil while the month is whole, and for usage, which was stated before.
  var removedSince: Double?
  /// Whether this is a draft of the usage of a month that could be closed.
  var canBeClosed = false
}
