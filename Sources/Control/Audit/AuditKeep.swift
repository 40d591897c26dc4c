import CommandLineTool
import Support

/// `analysisctl audit keep`.
enum AuditKeepCommand {
  static let command = ControlCommand(
    "keep", abstract: "Keep the end of the audit outside of the database.",
    discussion: """
      The end of the chain is appended to the file, or sent to the journal, that --audit-ends names. Workers chain what is \
      recorded, every second; as the owner this command does so too. What is not chained yet is said, since the end \
      does not cover it. Every command keeps the end by itself when it has moved; a timer runs this one every 5 minutes \
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
      // The schema before this one cannot tell.
      let unchained = try? await audit.unchained()
      try session.view.show(AuditKeepResponse(end: end, place: place, unchained: unchained))
      return .done
    }
  }
}

/// An end that was kept.
struct AuditKeepResponse: Presentable {
  let end: KeptEnd
  let place: AuditEnds
  /// What was not chained by then, and for how many seconds the oldest; nil where that is not known.
  var unchained: (count: Int, seconds: Double?)?

  var json: JSONValue {
    [
      "place": .string(place.description), "at": .time(Double(end.at)),
      "installation": .string(end.installation), "end": .string(end.mark.description),
      "unchained": unchained.map { .count($0.count) } ?? .null,
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let kept = "Kept the end of the audit, entry \(end.mark.id), in \(printable(place.description)).\n"
    guard let unchained, unchained.count > 0 else { return kept }
    let age = unchained.seconds.map { ", the oldest for \(Int($0)) s" } ?? ""
    return kept
      + "\(unchained.count) \(unchained.count == 1 ? "entry is" : "entries are") not chained yet\(age), and not "
      + "covered by this end. Workers chain what is recorded; keep the end again when that is done.\n"
  }
}
