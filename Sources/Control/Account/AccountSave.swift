import CommandLineTool
import Endpoint
import Queue
import Support

/// `analysisctl account save`.
enum AccountSaveCommand {
  static let job = Argument("job", .jobID, help: "The number of an analysed job.")

  static let command = ControlCommand(
    "save", abstract: "Have the endpoint keep the analysis of a job with the account.",
    discussion: """
      \(AccountCommand.credentials)

      That the result is read, and why, is recorded first: see analysisctl audit. A repeat makes a second one at the \
      endpoint, which gives out ids of its own.
      """,
    examples: [
      Example("analysisctl account save 123 --worker-config worker.conf", "Keep one there.")
    ],
    inputs: EndpointOptions.all + [ReasonOption.reason, job],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let job = try context[job]
    return try await context.withAccount(asksDatabase: true) { access in
      let jobs = JobDirectory(access.session.database)
      guard let detail = try await jobs.show(job, by: access.session.actor) else {
        throw CommandFailure(.refused, "there is no job \(job)", advice: "Look with analysisctl jobs list.")
      }
      guard !detail.isResultHidden else {
        let login = try await DatabaseLogin.read(access.session.database)
        throw CommandFailure(
          .permission, "only a clinician's role may read what was found in job \(job)",
          advice: login.refusal(of: "it", needing: [.clinician]).advice)
      }
      guard let result = detail.result else {
        throw CommandFailure(
          .refused, "job \(job) has no analysis: it is \(detail.summary.state.rawValue)")
      }
      let receipt = try await access.client.save(try result.analysis(detail.summary.kind))
      try access.session.view.show(AccountSaveResponse(job: job, receipt: receipt))
      return .done
    }
  }
}

/// An analysis that the endpoint keeps now.
struct AccountSaveResponse: Sendable, Equatable, Presentable {
  let job: JobID
  let receipt: SaveReceipt

  var json: JSONValue {
    [
      "job": .id(job), "analysis": .text(receipt.id),
      "subscription": .text(receipt.subscription?.subscription.rawValue),
      "analysis_count": .count(receipt.subscription?.analysisCount),
      "analysis_limit": .count(receipt.subscription?.analysisLimit),
      "analysis_remaining": .count(receipt.subscription?.analysisRemaining),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    Facts([
      ("job", job.description), ("analysis", receipt.id ?? "the endpoint does not say"),
      ("analyses counted", receipt.subscription?.analysisCount.map(String.init)),
      ("remaining", receipt.subscription?.analysisRemaining.map(String.init)),
    ]).text
  }
}
