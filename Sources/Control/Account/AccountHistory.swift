import CommandLineTool
import Endpoint
import Support

/// `analysisctl account history`.
enum AccountHistoryCommand {
  static let command = ControlCommand(
    "history", abstract: "List the analyses that the endpoint keeps with the account.",
    discussion: """
      \(AccountCommand.credentials)

      What is listed is the account's own, and needs no role: whoever has its password may see it. The database is not \
      asked. Some endpoints answer the latest 20 only.
      """,
    examples: [
      Example("analysisctl account history --worker-config worker.conf", "What is kept there."),
      Example(
        "analysisctl account history --worker-config worker.conf --json",
        "With every condition, for a program."),
    ],
    inputs: EndpointOptions.all,
    exitCodes: [.done, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    try await context.withAccount { access in
      try access.session.view.show(try await access.client.history())
      return .done
    }
  }
}

extension AnalysisHistory: Presentable {
  var json: JSONValue {
    [
      "analyses": .array(analyses.map(Self.json)), "analysis_limit": .count(subscription?.analysisLimit),
      "analysis_count": .count(subscription?.analysisCount),
    ]
  }

  private static func json(_ analysis: SavedAnalysis) -> JSONValue {
    [
      "analysis": .string(analysis.id), "type": .string(analysis.kind.rawValue),
      "saved_at": .time(analysis.createdAt),
      "conditions": .array(
        analysis.conditions.map { condition in
          [
            "id": .string(condition.id), "name": .string(condition.name),
            "confidence": .number(condition.confidence.value),
            "band": .string(condition.confidence.band.rawValue), "normal": .bool(condition.isNormal),
          ]
        }),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !analyses.isEmpty else { return "No analyses.\n" }
    var table = Table([
      .init("ANALYSIS", wraps: true), .init("TYPE"), .init("SAVED"), .init("CONDITION", shrinks: true),
      .init("CONFIDENCE", alignment: .right), .init("BAND"),
    ])
    for analysis in analyses {
      let found = analysis.conditions.first
      let band = found.map { $0.isNormal ? "normal" : $0.confidence.band.rawValue }
      let colour = found.flatMap { $0.isNormal ? nil : $0.confidence.band.colour }
      table.add([
        Cell(analysis.id), Cell(analysis.kind.rawValue),
        Cell(analysis.createdAt.map { Moment.short($0) } ?? ""),
        Cell(found?.name ?? "none"), Cell(found?.confidence.percentageText ?? ""), Cell(band ?? "", colour),
      ])
    }
    return table.render(width: width, paint: paint)
  }
}
