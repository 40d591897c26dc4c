import HTTPServing
import Queue
import Support

extension DashboardPage {
  /// How far clinicians agree with what was found, and whether confidences keep what they promise.
  static let reviews = DashboardPage(
    path: "/reviews", section: .reviews, roles: JobReviews.roles + [.reporter]
  ) { request, context in
    try context.requireReviews()
    // Who may not read it sees a refusal, and no form for a month.
    try await context.require(JobReviews.roles + [.reporter])
    let reporter = Reporter(context.database)
    let isByMonth = try await reporter.readsReviewsByMonth()
    let (from, to) = try await ReviewMonths.read(request.query, reporter, isByMonth: isByMonth)
    // Read for this reader alone: the audit records each time who reads how often conditions were found.
    let reports = try await reporter.reviews(
      from: from, to: to, by: context.actor(reason: nil).statement)
    let figures = ReviewFigures(
      from: from, to: to, isByMonth: isByMonth, agreement: reports.agreement, calibration: reports.calibration
    )
    let toReview: HTML =
      try await context.has(JobReviews.roles)
      ? "<p class=\"buttons\"><a class=\"button\" href=\"\(ToReviewPage.path)\">To review…</a></p>\n" : ""
    return Page(title: "Reviews", content: "\(toReview)\(figures.html)")
  }
}

/// Which months the page is of: the running one, unless others are asked for.
enum ReviewMonths {
  static func read(
    _ query: FormValues, _ reporter: Reporter, isByMonth: Bool
  ) async throws -> (from: Period, to: Period) {
    let (from, to) = (try month("from", query), try month("to", query))
    if let from, let to {
      guard from <= to, to.label - from.label < 120 else {
        throw PageFailure.invalid("The first month is not before the last one, or there are more than 120.")
      }
      guard from == to || !isByMonth else {
        throw PageFailure.invalid(
          "This login sees some clinics only, and reads reviews of one month at a time: two ranges could show counts of few "
            + "persons. Ask for \(from) or \(to) alone.")
      }
      return (from, to)
    }
    if let one = from ?? to { return (one, one) }
    let current = try await reporter.currentMonth()
    return (current, current)
  }

  private static func month(_ name: String, _ query: FormValues) throws(PageFailure) -> Period? {
    guard let text = query[name], !text.isEmpty else { return nil }
    guard let month = Period(text) else {
      throw .invalid("The month in \(name) is not a month, such as 2026-11.")
    }
    return month
  }
}

/// The two reports as tables and charts.
struct ReviewFigures {
  let from, to: Period
  /// Whether the login sees some clinics only, and so one month at a time.
  let isByMonth: Bool
  let agreement: [AgreementRow]
  let calibration: [CalibrationRow]

  /// How many rows the table and the chart have, so that no page grows without end.
  private static let (mostRows, mostLines) = (100, 25)

  private var all: AgreementRow? { agreement.first(where: \.isSum) }
  private var rows: [AgreementRow] { agreement.filter { !$0.isSum } }
  private var isHiding: Bool {
    agreement.contains { $0.counts.shown == nil } || calibration.contains { $0.counts.shown == nil }
  }

  var html: HTML {
    """
    \(form)
    \(figures)
    \(note)
    <h2>Agreement by condition and band</h2>
    \(agreementChart)
    \(agreementTable)
    <h2>Does 80 % mean 80 %?</h2>
    \(calibrationChart)
    \(calibrationTable)
    """
  }

  private var form: HTML {
    let last: HTML =
      isByMonth
      ? ""
      : """
      <p><label for="to">Last month</label>
      <input id="to" name="to" value="\(to.description)" size="8" autocomplete="off"></p>
      """
    return """
      <form class="filters" method="get" action="/reviews">
      <p><label for="from">\(isByMonth ? "Month" : "First month")</label>
      <input id="from" name="from" value="\(from.description)" size="8" autocomplete="off"></p>
      \(last)
      <p><button>Show</button></p>
      </form>
      """
  }

  private var figures: HTML {
    let shown = all?.counts.shown
    let verdicts: HTML? = shown.map { shown in "\(shown.agree + shown.disagree + shown.unsure)" }
    let hidden: HTML = all.map { all in "\(all.counts.hiddenText)" } ?? "0"
    let error = calibration.last.map { $0.errorText ?? ($0.hidesMean ? $0.counts.hiddenText : "–") }
    return .figures([
      ("Verdicts", verdicts ?? hidden),
      ("Clinicians agree", "\(Self.percent(shown?.agreement))"),
      ("Interval of 95\u{A0}%", "\(Self.interval(shown))"),
      ("Expected calibration error", "\(error ?? "–")"),
    ])
  }

  private var note: HTML {
    guard isByMonth else { return "" }
    let hidden: HTML =
      (isHiding ? agreement.first?.counts.hiddenText : nil).map { least in
        " What is of too few persons, or would give such a number away, is shown as \(least)."
      } ?? ""
    return """
      <p class="quiet">This login sees some clinics only, and reads reviews of one month at a time.\(hidden)</p>
      """
  }

  // MARK: - Agreement

  private var agreementChart: HTML? {
    let lines = rows.compactMap { row -> IntervalChart.Line? in
      guard let shown = row.counts.shown, let share = shown.agreement, let low = shown.low,
        let high = shown.high
      else { return nil }
      return .init(
        name(row), share: share, low: low, high: high,
        note: "\(shown.agree) of \(shown.agree + shown.disagree)")
    }
    guard !lines.isEmpty else { return nil }
    return IntervalChart("How many clinicians agree", lines: Array(lines.prefix(Self.mostLines))).html
  }

  private func name(_ row: AgreementRow) -> String {
    [row.label.shortened(to: 60), row.mark].compactMap(\.self).joined(separator: ", ")
  }

  private var agreementTable: HTML {
    let shown = rows.prefix(Self.mostRows)
    var table = DataTable(
      shown.count < rows.count
        ? "The first \(shown.count) of \(rows.count) conditions and bands"
        : "Verdicts by the primary condition of the analysis and its band",
      [.init("Condition"), .init("Band")] + Self.countColumns,
      empty: "Nobody has reviewed an analysis of these months.")
    for row in shown + [all].compactMap(\.self) where !agreement.isEmpty {
      table.add(
        [
          "\(row.label.shortened(to: 100))",
          row.mark.map { mark in "<span class=\"band \(mark)\">\(mark)</span>" } ?? "",
        ] + Self.cells(row.counts))
    }
    return table.html
  }

  // MARK: - Calibration

  private var calibrationChart: HTML? {
    let points = calibration.compactMap { row -> CalibrationChart.Point? in
      guard row.tenth != nil, let confidence = row.confidence, let shown = row.counts.shown,
        let share = shown.agreement, let low = shown.low, let high = shown.high
      else { return nil }
      return .init(
        confidence: confidence, share: share, low: low, high: high,
        note: "\(shown.agree + shown.disagree)")
    }
    guard !points.isEmpty else { return nil }
    return """
      <p class="quiet">On the broken line clinicians agree as often as the confidence says. Below it, it promises too \
      much. The lines are intervals of 95 % (Wilson); the numbers are verdicts.</p>
      \(CalibrationChart("Confidence against agreement", points: points).html)
      """
  }

  private var calibrationTable: HTML {
    var table = DataTable(
      "Verdicts by the confidence of the primary condition; the error of all is the expected calibration error",
      [.init("Confidence"), .init("Mean", isNumber: true)] + Self.countColumns
        + [.init("Error", isNumber: true)],
      empty: "Nothing.")
    // Tenths without a verdict say nothing.
    for row in calibration where row.tenth == nil || row.counts.shown?.persons != 0 {
      let hidden: HTML? = row.hidesMean ? "\(row.counts.hiddenText)" : nil
      table.add(
        ["\(row.label)", hidden ?? "\(Self.percent(row.confidence))"] + Self.cells(row.counts)
          + [hidden ?? "\(row.errorText ?? "–")"])
    }
    return table.html
  }

  // MARK: - Cells

  private static var countColumns: [DataTable.Column] {
    ["Agree", "Disagree", "Unsure", "Persons", "Agreement", "Interval of 95 %"].map {
      .init($0, isNumber: true)
    }
  }

  private static func cells(_ counts: VerdictCounts) -> [HTML] {
    guard let shown = counts.shown else {
      return countColumns.map { _ in "\(counts.hiddenText)" as HTML }
    }
    return [
      "\(shown.agree)", "\(shown.disagree)", "\(shown.unsure)", "\(shown.persons)",
      "\(percent(shown.agreement))", "\(interval(shown))",
    ]
  }

  private static func percent(_ share: Double?) -> String {
    share.map { "\(wholePercentage($0))%" } ?? "–"
  }

  private static func interval(_ shown: VerdictCounts.Shown?) -> String {
    guard let shown, shown.low != nil else { return "–" }
    return "\(percent(shown.low)) to \(percent(shown.high))"
  }
}
