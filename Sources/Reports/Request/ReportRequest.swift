public import AnalysisCore

/// What is asked of a reporter.
public struct ReportRequest: Sendable {
  /// The question.
  public var kind: ReportKind
  /// The month in which the jobs count. It is each user's own: their billing zone decided it when the job
  /// was submitted.
  public var month: Period
  /// The IANA zone in which times are shown; nil for each user's billing zone. It changes no number.
  public var zone: String?
  /// How the answer is written.
  public var format: ReportFormat
  /// Whether CSV begins with a byte order mark, by which spreadsheets know UTF-8.
  public var excel: Bool
  /// How many columns a terminal has for the table; nil for as many as the table needs.
  public var width: Int?

  /// A request.
  public init(
    _ kind: ReportKind, month: Period, zone: String? = nil, format: ReportFormat = .table,
    excel: Bool = false,
    width: Int? = nil
  ) {
    self.kind = kind
    self.month = month
    self.zone = zone
    self.format = format
    self.excel = excel
    self.width = width
  }
}
