import AnalysisCore

/// A row an analysis.
struct AnalysesPresenter: ReportPresenter {
  static let columns: [Column] =
    [
      .identifier("job", "Job"),
      .words("user", "User"),
      .words("kind", "Kind"),
    ]
    + finding("primary", "Primary") + finding("secondary", "Secondary")
    + [
      .number("conditions", "Conditions", for: .programs),
      .words("serious", "Serious"),
      .words("consult", "Consult"),
      .words("endpoint_serious", "Endpoint serious"),
      .words("endpoint_consult", "Endpoint consult"),
      .number("attempt", "Attempt", for: .programs),
      .number("calls", "Calls", for: .programs),
      .words("analysis", "Analysis", for: .programs),
      .words("endpoint", "Endpoint", for: .programs),
      .words("model", "Model", for: .programs),
      .words("answered_at", "Answered", for: .programs),
      .words("finished_at", "Finished"),
    ]

  static func put(_ row: AnalysesResponse, into cells: inout [Cell]) {
    cells.append(.identifier(row.job.value))
    cells.append(.borrowed(row.user))
    cells.append(.text(row.kind.rawValue))
    putFinding(row.primary, into: &cells)
    putFinding(row.secondary, into: &cells)
    cells.append(.integer(row.conditionCount))
    cells.append(Cell(row.isSerious))
    cells.append(Cell(row.advisesConsultation))
    cells.append(Cell(row.endpointSaysSerious))
    cells.append(Cell(row.endpointAdvisesConsultation))
    cells.append(.integer(row.attempt))
    cells.append(.integer(row.calls))
    cells.append(Cell(row.analysisID))
    cells.append(Cell(row.endpoint))
    cells.append(Cell(row.model))
    cells.append(Cell(row.answeredAt))
    cells.append(.time(row.finishedAt))
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
  private static func putFinding(_ finding: AnalysesResponse.Finding?, into cells: inout [Cell]) {
    guard let finding else {
      for _ in 0..<7 { cells.append(.absent) }
      return
    }
    cells.append(.borrowed(finding.id))
    cells.append(.borrowed(finding.name))
    cells.append(.decimal(finding.confidence.value))
    cells.append(.percentage(Int64(finding.confidence.percentage)))
    cells.append(.text(finding.band.rawValue))
    cells.append(.boolean(finding.isNormal))
    cells.append(.text(finding.isNormal ? "normal" : finding.band.rawValue))
  }
}
