import CommandLineTool

/// `analysisctl users set-zone`.
enum UsersSetZoneCommand {
  static let zone = Argument("zone", .string, help: "An IANA time zone, for instance Asia/Jakarta.")

  static let command = ControlCommand(
    "set-zone", abstract: "Set the time zone in which a user's months are counted.",
    discussion: "Jobs that are submitted keep the month in which they count.",
    examples: [
      Example("analysisctl users set-zone u1 Europe/Berlin", "For what is submitted from now on.")
    ],
    inputs: [ReasonOption.reason, UsersCommand.user, zone],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let (user, zone) = (try context[UsersCommand.user], try context[zone])
    return try await context.withSession { session in
      try await UserDirectory(session.database).setZone(user, zone: zone, by: session.actor)
      try session.view.show(UsersSetResponse(user: user, name: "zone", value: zone, from: nil))
      return .done
    }
  }
}
