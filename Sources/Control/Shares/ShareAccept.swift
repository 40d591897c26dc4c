import CommandLineTool
import Support

/// `analysisctl share accept`.
enum ShareAcceptCommand {
  static let command = ControlCommand(
    "accept", abstract: "Accept a share, as the clinician whom a user asked.",
    discussion: """
      Only the login that was asked can. From then on it reads the user's jobs and analyses (jobs list --user, jobs \
      show, report analyses, the dashboard), also where it is restricted to clinics of which the user is none's. Each \
      reading of an analysis is recorded with the share's number.
      """,
    examples: [Example("analysisctl share accept S12", "Read from now on.")],
    inputs: [ReasonOption.reason, ShareCommand.share],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater], feature: .sharing
  ) { context in
    let id = try context[ShareCommand.share]
    return try await context.withSession { session in
      try await ShareDirectory(session.database).accept(id, by: session.actor)
      try session.view.show(ShareChangeResponse(id: id, what: "accepted"))
      return .done
    }
  }
}

/// A share that was accepted or revoked.
struct ShareChangeResponse: Sendable, Equatable, Presentable {
  let id: ShareID
  /// `accepted` or `revoked`.
  let what: String

  var json: JSONValue { .object([.init(name: what, value: .string(id.description))]) }

  func text(width: Int?, paint: Paint) -> String { "\(what) share \(id)\n" }
}
