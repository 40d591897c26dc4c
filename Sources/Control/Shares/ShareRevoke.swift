import CommandLineTool

/// `analysisctl share revoke`.
enum ShareRevokeCommand {
  static let command = ControlCommand(
    "revoke", abstract: "End a share.",
    discussion: """
      An office ends those of its users, a clinician the own ones. What is read from then on is refused. One that has \
      ended stays as it is; who is to read again is asked anew.
      """,
    examples: [Example("analysisctl share revoke S12 --reason treatment-ended", "One.")],
    inputs: [ReasonOption.reason, ShareCommand.share],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater], feature: .sharing
  ) { context in
    let id = try context[ShareCommand.share]
    return try await context.withSession { session in
      try await ShareDirectory(session.database).revoke(id, by: session.actor)
      try session.view.show(ShareChangeResponse(id: id, what: "revoked"))
      return .done
    }
  }
}
