import AnalysisCore

/// A row an analysis.
struct AnalysesPresenter: ReportPresenter {
  static let columns: [Column] =
    [
      .words("job", "Job"),
      .words("user", "User"),
      .words("kind", "Kind"),
    ]
    + finding("primary", "Primary") + finding("secondary", "Secondary")
    + [
      .number("conditions", "Conditions", for: .programs),
      .words("serious", "Serious"),
      .words("consult", "Consult"),
      .number("attempt", "Attempt", for: .programs),
      .number("calls", "Calls", for: .programs),
      .words("analysis", "Analysis", for: .programs),
      .words("endpoint", "Endpoint", for: .programs),
      .words("model", "Model", for: .programs),
      .words("answered_at", "Answered", for: .programs),
      .words("finished_at", "Finished"),
    ]

  static func cells(_ row: AnalysesResponse) -> [Cell] {
    [.identifier(row.job.value), .text(row.user), .text(row.kind.rawValue)]
      + findingCells(row.primary) + findingCells(row.secondary)
      + [
        .integer(row.conditionCount), .boolean(row.isSerious), .boolean(row.recommendsConsultation),
        .integer(row.attempt), .integer(row.calls), Cell(row.analysisID), Cell(row.endpoint),
        Cell(row.model), Cell(row.answeredAt?.text), .text(row.finishedAt.text),
      ]
  }

  private static func finding(_ name: String, _ heading: String) -> [Column] {
    [
      .words("\(name)_id", heading, for: .programs),
      .words("\(name)_name", heading),
      .number("\(name)_confidence", "Confidence", for: .programs),
      .number("\(name)_percentage", "%"),
      .words("\(name)_band", "Band", for: .programs),
      .words("\(name)_normal", "Normal", for: .programs),
      .words("\(name)_mark", "Band", for: .people),
    ]
  }

  /// People see a normal condition as such and without its band, which would alarm by being sure.
  private static func findingCells(_ finding: AnalysesResponse.Finding?) -> [Cell] {
    guard let finding else { return Array(repeating: .absent, count: 7) }
    return [
      .text(finding.id), .text(finding.name), .decimal(finding.confidence.value),
      .text(finding.confidence.percentageText), .text(finding.band.rawValue), .boolean(finding.isNormal),
      .text(finding.isNormal ? "normal" : finding.band.rawValue),
    ]
  }
}
