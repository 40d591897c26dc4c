import CommandLineTool

/// `analysisctl share`.
enum ShareCommand {
  static let share = Argument(
    "share", .shareID, help: "The share's number, with its S or without: S12.")

  static let command = ControlCommand(
    "share", abstract: "Let a clinician or a carer read a user's analyses.",
    discussion: """
      A share is requested for a user, and accepted by whom it is for: a clinician with the own login, by share \
      accept; a carer, who is another user, through the gateway with a token. From then on they read the user's \
      analyses, until the share expires, is revoked, or either person is erased. A clinician who sees all users \
      needs none.
      """,
    examples: [
      Example("analysisctl share request u1 --clinician alice --expires 30d", "Ask alice, for 30 days."),
      Example("analysisctl share request u1 --carer u2", "Ask another user."),
      Example("analysisctl share accept S12", "As alice: read from now on."),
      Example("analysisctl share list --user u1", "Who reads what u1 shares."),
      Example("analysisctl share revoke S12", "End it."),
    ],
    subcommands: [
      ShareRequestCommand.command, ShareAcceptCommand.command, ShareListCommand.command,
      ShareRevokeCommand.command,
    ])
}

extension ValueFormat where Value == ShareID {
  /// `S12` or `12`.
  static var shareID: Self {
    ValueFormat(
      name: "SHARE",
      read: { ShareID($0) },
      else: "is not a share's number, such as S12",
      text: \.description)
  }
}
