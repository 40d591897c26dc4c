import CommandLineTool
import Queue
import Support

/// `analysisctl batches list`.
enum BatchesListCommand {
  static let limit = Option("limit", .int(in: 1...1000), default: 20, help: "How many at most.")
  static let before = Option<BatchID?>("before", .batchID, help: "Only those that were made before this one.")

  static let command = ControlCommand(
    "list", abstract: "List batches, the newest first, with how far they are.",
    discussion: """
      LEFT is how long the rest takes at the rate of the last minute; a question mark where nothing ended in it.

      For a login that is restricted to clinics a list looks at about \(BatchDirectory.looks) jobs. If its batches are \
      rarer than that, the list ends before it is full, perhaps empty, says where the search goes on, and the exit \
      code is 7.
      """,
    examples: [
      Example("analysisctl batches list", "The newest ones."),
      Example("analysisctl batches list --before B17 --json", "Earlier ones, for a program."),
    ],
    inputs: [limit, before], exitCodes: [.done, .cutShort, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let (limit, before) = (try context[limit], try context[before])
    return try await context.withSession { session in
      let list = try await BatchDirectory(session.database).list(before: before, limit: limit)
      try session.view.show(BatchListResponse(list: list))
      if let next = list.next {
        session.view.sayUnlessJSON(
          list.isCutShort
            ? "The search stopped here, and there may be more: --before \(next)"
            : "There are more: --before \(next)")
      }
      return list.isCutShort ? .cutShort : .done
    }
  }
}

/// Some batches, the newest first.
struct BatchListResponse: Sendable, Equatable, Presentable {
  let list: BatchList

  var json: JSONValue {
    [
      "batches": .array(list.batches.map(\.json)), "next": .text(list.next?.description),
      "cut_short": .bool(list.isCutShort),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !list.batches.isEmpty else { return list.isCutShort ? "No batches so far.\n" : "No batches.\n" }
    var table = Table([
      .init("BATCH"), .init("NAME", shrinks: true), .init("MADE"), .init("TOTAL", alignment: .right),
      .init("DONE", alignment: .right), .init("FAILED", alignment: .right),
      .init("CANCELLED", alignment: .right), .init("REFUSED", alignment: .right, mayGo: true),
      .init("LEFT", alignment: .right),
    ])
    for batch in list.batches {
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
