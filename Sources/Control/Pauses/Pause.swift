import CommandLineTool
import FoundationEssentials
import PostgreSQL
import Queue
import Support

enum PauseCommand {
  static let reason = Option<String?>(
    "reason", .reason, help: "Why, for whoever looks at the status or the audit; at most 500 characters.")
  static let until = Option<Expiry?>(
    "until", .expiry,
    help:
      "When it ends by itself: after a time (30m), with a day (2026-12-31, by UTC) or at a time. Unless given it "
      + "lasts until it is resumed.")

  static let command = ControlCommand(
    "pause", abstract: "Have no more jobs started: all, those of a type, or those for an endpoint.",
    discussion: """
      Every worker obeys within a few seconds, one that is started later too. Calls in flight go on, jobs wait \
      and none is failed; submits are taken as ever. Pausing what is paused already for the same reason \
      changes nothing. A worker that finds by itself that an endpoint does not answer leaves it alone for a \
      while; that is not seen here but in analysisctl status, and ends by itself.
      """,
    examples: [
      Example("analysisctl pause --type ear --reason upgrade", "No ear image is sent from now on."),
      Example("analysisctl pause --type ear --until 30m", "For half an hour."),
      Example("analysisctl pause --type ear --until 2026-12-01T06:00:00Z", "Until the morning."),
      Example("analysisctl pause --endpoint https://ears.example.org", "Leave one endpoint alone."),
      Example("analysisctl pause", "Start nothing at all."),
    ],
    inputs: PauseTarget.inputs + [reason, until],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let (scope, reason) = (try PauseTarget.scope(context), try context[reason])
    let until = try context[until]
    return try await context.withSession { session in
      let until = try await until?.moment(session.database)
      let pauses = PauseDirectory(session.database)
      let outcome = try await pause(scope, until: until, by: session.actor(reason), pauses)
      let response = PauseResponse(
        scope: scope, outcome: outcome.rawValue, inForce: try await pauses.inForce())
      if let note = try await note(scope, session.database) { session.console.say(note) }
      return try session.show(response)
    }
  }

  private static func pause(
    _ scope: OperatorPause.Scope, until: Double?, by actor: AuditActor, _ pauses: PauseDirectory
  ) async throws -> PauseDirectory.Outcome {
    do {
      return try await pauses.pause(scope, reason: actor.reason, until: until, by: actor)
    } catch let error where error.code == .badRow {
      throw CommandFailure(
        .refused, error.message, advice: "Give a time that is still to come by the server's clock.")
    }
  }

  /// An endpoint that no worker calls is perhaps misspelt, and perhaps only not started yet.
  private static func note(
    _ scope: OperatorPause.Scope, _ database: ConnectionPool
  ) async throws -> String? {
    guard case .endpoint = scope else { return nil }
    let reports = try await QueueStatus.read(database).workers.compactMap(\.report)
    let names = Set(reports.flatMap(\.endpoints).map(\.name))
    let pause = OperatorPause(scope, by: "", since: 0)
    guard !names.isEmpty, !names.contains(where: { pause.stops(.throat, endpoint: $0) }) else { return nil }
    return "No worker calls an endpoint of this name at present; those that are called: "
      + names.sorted().map(printable).joined(separator: ", ") + "."
  }
}

/// The options that say what to pause.
enum PauseTarget {
  static let endpoint = Option<String?>(
    "endpoint", .string, valueName: "url",
    help: "Only what is sent to this endpoint; the address as the workers are given it.")
  static let kind = Option<AnalysisKind?>(
    "type", short: "t", .choice(AnalysisKind.self), help: "Only jobs of this type.")

  static let inputs: [any Input] = [endpoint, kind]

  static func scope(_ context: ControlContext) throws -> OperatorPause.Scope {
    switch (try context[endpoint], try context[kind]) {
    case (.some, .some):
      throw CommandFailure.usage(
        "--endpoint and --type cannot be given together", advice: "Pause the one and then the other.")
    case (.some(let name), nil):
      guard (1...200).contains(name.unicodeScalars.count) else {
        throw CommandFailure.usage("an endpoint's name has 1 to 200 characters")
      }
      return .endpoint(name)
    case (nil, .some(let kind)): return .kind(kind)
    case (nil, nil): return .everything
    }
  }
}

/// What a pause or its end came to.
struct PauseResponse: Sendable, Equatable, Presentable {
  /// What was paused or resumed.
  let scope: OperatorPause.Scope
  /// `paused`, `changed`, `resumed` or `unchanged`.
  let outcome: String
  /// Every pause that is in force now.
  let inForce: [OperatorPause]

  var json: JSONValue {
    [
      "target": .string(scope.description), "outcome": .string(outcome),
      "pauses": .array(inForce.map(\.json)),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let others = inForce.filter { $0.scope != scope }
    let own = inForce.first { $0.scope == scope }
    let name = printable(scope.description)
    let first =
      switch (outcome, own) {
      case ("resumed", _): "\(name): not paused any more"
      case ("unchanged", nil): "\(name): was not paused"
      case ("unchanged", .some(let pause)): pause.line + " (unchanged)"
      case (_, .some(let pause)): pause.line
      case (_, nil): "\(name): the pause is over already"
      }
    return first + "\n" + others.map { $0.line + "\n" }.joined()
  }
}

extension OperatorPause {
  var json: JSONValue {
    var (endpoint, type): (String?, String?) = (nil, nil)
    switch scope {
    case .everything: break
    case .endpoint(let name): endpoint = name
    case .kind(let kind): type = kind.rawValue
    }
    return [
      "endpoint": .text(endpoint), "type": .text(type), "reason": .text(reason), "by": .string(by),
      "since": .time(since), "until": .time(until),
    ]
  }
}
