import CommandLineTool
import Support

/// `analysisctl audit keep`.
enum AuditKeepCommand {
  static let command = ControlCommand(
    "keep", abstract: "Keep the end of the audit outside of the database.",
    discussion: """
      The end of the chain is appended to the file, or sent to the journal, that --audit-ends names. Workers chain what is \
      recorded, every second; as the owner this command does so too, and doctor says what waits. Every command does so by itself when the end has moved; a timer runs this one every 5 minutes \
      for what was recorded by SQL and by workers. A file is not made: an administrator makes it so that nobody who \
      can write the database can change it. See audit verify --expect-from.
      """,
    examples: [
      Example("analysisctl audit keep --audit-ends journal", "Send it to the system's journal."),
      Example("analysisctl audit keep --audit-ends /var/log/analysis/audit-ends", "Append it to a file."),
    ],
    exitCodes: [.done, .usage, .unreachable, .tryLater, .permission], keepsEnd: false,
    timerSuccesses: [.done]
  ) { context in
    guard let place = try context[CommonOptions.auditEnds] else {
      throw CommandFailure.usage(
        "there is no place to keep the end in",
        advice: "Name a file or journal: --audit-ends, or audit-ends = journal in the configuration file.")
    }
    return try await context.withSession(keepsEnd: false) { session in
      let audit = AuditLog(session.database)
      try await audit.chain()
      let end = try await audit.end()
      try await EndKeeper.keep(end, in: place)
      try session.view.show(AuditKeepResponse(end: end, place: place))
      return .done
    }
  }
}

/// An end that was kept.
struct AuditKeepResponse: Presentable {
  let end: KeptEnd
  let place: AuditEnds

  var json: JSONValue {
    [
      "place": .string(place.description), "at": .time(Double(end.at)),
      "installation": .string(end.installation), "end": .string(end.mark.description),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    "Kept the end of the audit, entry \(end.mark.id), in \(printable(place.description)).\n"
  }
}
