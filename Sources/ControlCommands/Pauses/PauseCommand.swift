import AnalysisCore
import CommandLineTool
import FoundationEssentials
import JobQueue

/// `analysisctl pause`.
enum PauseCommand {
  static let reason = Option<String?>(
    "reason", .reason, help: "Why, for whoever looks at the status or the audit; at most 500 characters.")
  static let until = Option<Date?>(
    "until", .time, help: "When it ends by itself; unless given it lasts until it is resumed.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "pause", abstract: "Have no more jobs started: all, those of a type, or those for an endpoint.",
      discussion: """
        Every worker obeys within a few seconds, one that is started later too. Calls in flight go on, jobs wait \
        and none is failed; submits are taken as ever. Pausing what is paused already for the same reason \
        changes nothing. A worker that finds by itself that an endpoint does not answer leaves it alone for a \
        while; that is not seen here but in analysisctl status, and ends by itself.
        """,
      examples: [
        Example("analysisctl pause --type ear --reason upgrade", "No ear image is sent from now on."),
        Example("analysisctl pause --type ear --until 2026-12-01T06:00:00Z", "Until the morning."),
        Example("analysisctl pause --endpoint https://ears.example.org", "Leave one endpoint alone."),
        Example("analysisctl pause", "Start nothing at all."),
      ],
      inputs: PauseTarget.inputs + [reason, until],
      exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
    ) { context in
      let request = PauseRequest(
        scope: try PauseTarget.scope(context.values), reason: try context.values[reason],
        until: try context.values[until]?.timeIntervalSince1970)
      return try await context.withSession(dependencies) { session in
        let actor = session.actor(request.reason)
        let response = try await PauseInteractor(database: session.database, actor: actor).answer(request)
        for note in response.notes { session.console.say(note) }
        try session.view.show(response, by: PausesPresenter.self)
        return .done
      }
    }
  }
}

/// `analysisctl resume`.
enum ResumeCommand {
  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "resume", abstract: "End a pause.",
      discussion: """
        It ends the pause that was made with the same options, and tells which others there are. Ending one that \
        is not there changes nothing.
        """,
      examples: [
        Example("analysisctl resume --type ear", "Ear images are sent again."),
        Example("analysisctl resume", "End the pause of everything."),
      ],
      inputs: PauseTarget.inputs + [ReasonOption.reason],
      exitCodes: [.done, .usage, .unreachable, .tryLater, .permission]
    ) { context in
      let scope = try PauseTarget.scope(context.values)
      let reason = try context.values[ReasonOption.reason]
      return try await context.withSession(dependencies) { session in
        let response = try await ResumeInteractor(database: session.database, actor: session.actor(reason))
          .answer(scope)
        try session.view.show(response, by: PausesPresenter.self)
        return .done
      }
    }
  }
}

/// The options by which is told what to pause.
enum PauseTarget {
  static let endpoint = Option<String?>(
    "endpoint", .string, valueName: "url",
    help: "Only what is sent to this endpoint; the address as the workers are given it.")
  static let kind = Option<AnalysisKind?>(
    "type", short: "t", .choice(AnalysisKind.self), help: "Only jobs of this type.")

  static let inputs: [any Input] = [endpoint, kind]

  static func scope(_ values: Values) throws -> OperatorPause.Scope {
    switch (try values[endpoint], try values[kind]) {
    case (.some, .some):
      throw ControlError.usage(
        "--endpoint and --type cannot be given together", advice: "Pause the one and then the other.")
    case (.some(let name), nil):
      guard (1...200).contains(name.unicodeScalars.count) else {
        throw ControlError.usage("an endpoint's name has 1 to 200 characters")
      }
      return .endpoint(name)
    case (nil, .some(let kind)): return .kind(kind)
    case (nil, nil): return .everything
    }
  }
}
