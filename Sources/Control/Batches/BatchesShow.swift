import CommandLineTool
import Queue
import Support

/// `analysisctl batches show`.
enum BatchesShowCommand {
  static let command = ControlCommand(
    "show", abstract: "Show how far a batch is, and why jobs of it failed.",
    discussion: """
      The rate is that of the last minute. What was refused has no job. Cancelled jobs count among the total, and \
      neither as done nor as failed. The jobs themselves: analysisctl jobs list --batch B17.
      """,
    examples: [Example("analysisctl batches show B17", "One batch.")],
    inputs: [BatchesCommand.batch],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let batch = try context[BatchesCommand.batch]
    return try await context.withSession { session in
      let status = try await BatchesCommand.status(of: batch, session)
      let causes =
        status.counts.dead > 0 ? try await BatchDirectory(session.database).causes(of: batch) : []
      try session.view.show(BatchDetail(status: status, causes: causes))
      return .done
    }
  }
}

/// A batch with the causes of its failures.
struct BatchDetail: Sendable, Equatable, Presentable {
  let status: BatchStatus
  let causes: [BatchCause]

  var json: JSONValue {
    guard case .object(let members) = status.json else { return .null }
    let causes = JSONValue.array(
      causes.map {
        [
          "class": .string($0.failureClass), "code": .text($0.code), "jobs": .count($0.count),
          "last_job": .id($0.lastJob),
        ]
      })
    return .object(members + [JSONValue.Member(name: "causes", value: causes)])
  }

  func text(width: Int?, paint: Paint) -> String {
    let text = status.text(width: width, paint: paint)
    guard !causes.isEmpty else { return text }
    var table = Table([
      .init("FAILED", alignment: .right), .init("CLASS"), .init("CODE", shrinks: true),
      .init("LAST JOB", alignment: .right),
    ])
    for cause in causes {
      table.add([
        Cell(cause.count, .red), Cell(cause.failureClass), Cell(cause.code ?? ""),
        Cell(cause.lastJob.description),
      ])
    }
    return text + "\n" + table.render(width: width, paint: paint)
  }
}
