import Administration
import AnalysisCore
import CommandLineTool
import Formatting
import JobQueue

/// `analysisctl batches list`.
enum BatchesListCommand {
  static let limit = Option("limit", .int(in: 1...1000), default: 20, help: "How many at most.")
  static let before = Option<BatchID?>("before", .batchID, help: "Only those that were made before this one.")

  static let command = ControlCommand(
    "list", abstract: "List batches, the newest first, with how far they are.",
    discussion: """
      LEFT is how long the rest takes at the rate of the last minute; a question mark where nothing ended in it.
      """,
    examples: [
      Example("analysisctl batches list", "The newest ones."),
      Example("analysisctl batches list --before B17 --json", "Earlier ones, for a program."),
    ],
    inputs: [limit, before], exitCodes: [.done, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let (limit, before) = (try context[limit], try context[before])
    return try await context.withSession { session in
      let batches = try await BatchDirectory(session.database).list(before: before, limit: limit)
      try session.view.show(BatchPage(batches: batches))
      if batches.count == limit, let last = batches.last {
        session.view.sayUnlessJSON("There may be more: --before \(last.id)")
      }
      return .done
    }
  }
}

/// Some batches, the newest first.
struct BatchPage: Sendable, Equatable, Presentable {
  let batches: [BatchStatus]

  var json: JSONValue { ["batches": .array(batches.map(\.json))] }

  func text(width: Int?, paint: Paint) -> String {
    guard !batches.isEmpty else { return "No batches.\n" }
    var table = Table([
      .init("BATCH"), .init("NAME", shrinks: true), .init("MADE"), .init("TOTAL", alignment: .right),
      .init("DONE", alignment: .right), .init("FAILED", alignment: .right),
      .init("CANCELLED", alignment: .right), .init("REFUSED", alignment: .right, mayGo: true),
      .init("LEFT", alignment: .right),
    ])
    for batch in batches {
      table.add([
        Cell(batch.id.description), Cell(batch.name ?? ""), Cell(Moment.short(batch.createdAt)),
        Cell(batch.counts.jobs), Cell(batch.counts.succeeded),
        Cell(batch.counts.dead, batch.counts.dead > 0 ? .red : nil), Cell(batch.counts.cancelled),
        Cell(batch.refused.map(String.init) ?? ""), Cell(batch.shownTimeLeft ?? ""),
      ])
    }
    return table.render(width: width, paint: paint)
  }
}
