import CommandLineTool
import Support

enum DoctorCommand {
  static let deep = Flag("deep", help: "Recount everybody's use too, which reads all jobs.")
  static let longTransaction = Option(
    "long-transaction", .duration(in: .zero...(.seconds(86_400))), default: .seconds(300),
    help: "How long a transaction may last before it is reported.")
  static let maxWait = Option<Duration?>(
    "max-wait", .duration(in: .zero...(.seconds(31_536_000))),
    help: "How long a job may wait before it is wrong; any time when left out.")
  static let all = Flag("all", help: "List the checks that passed or were skipped, too.")
  static let failOn = Option(
    "fail-on", .choice(FailOn.self), default: .wrong, help: "From which findings on the exit code is 1.")

  /// From which findings on the command fails.
  enum FailOn: String, CaseIterable, Sendable {
    case warning, wrong
  }

  static let command = ControlCommand(
    "doctor", abstract: "Look for what is wrong with the database, the workers and the endpoint.",
    discussion: """
      What is wrong comes first, then the warnings, each with what to do about it; of the checks that passed the \
      number, unless --all lists them. Nothing is changed; at the endpoint one health call \
      and one log-in are made, and no analysis. Given --worker-config, what that worker uses is looked at; \
      options come before its file.

      An endpoint that a worker does not call since it fails is wrong, and so are jobs that wait while no worker \
      lives, or longer than --max-wait.

      Exit codes: 0 when nothing is wrong (warnings there may be, unless --fail-on warning), 1 when something is, \
      69 when the database cannot be reached; the endpoint is looked at all the same.
      """,
    examples: [
      Example("analysisctl doctor", "The database, the schema and the workers."),
      Example(
        "analysisctl doctor --worker-config /etc/analysis/worker.conf",
        "What that worker uses, its endpoint too."),
      Example(
        "analysisctl doctor --endpoint https://model.example.org --credentials account",
        "The endpoint and the account as well."),
      Example(
        "analysisctl doctor --max-wait 10m --fail-on warning",
        "For a monitor: 1 when a job waits for longer than 10 minutes, and on each warning."),
      Example("analysisctl doctor --deep --json", "Everything, for a program."),
    ],
    inputs: EndpointOptions.all + [
      KeyFileOption.path, deep, longTransaction, maxWait, all, failOn,
    ],
    exitCodes: [.done, .jobFailed, .usage, .unreadableInput, .unreachable, .tryLater], keepsEnd: false,
    timerSuccesses: [.done]
  ) { context in
    let request = try request(context)
    return try await context.withSession(schema: .nothing, database: request.database) { session in
      let checkup = Checkup(request, database: session.database, environment: context.environment)
      var report = try await checkup.run()
      report.listsAll = try context[all]
      try session.view.show(report)
      return report.exitCode(failingOn: try context[failOn])
    }
  }

  private static func request(_ context: ControlContext) throws -> DoctorRequest {
    var named = DoctorRequest.Named()
    named.workerConfiguration = try context[EndpointOptions.workerConfiguration]
    named.endpoint = try EndpointOptions.named(context)
    named.keyFile = try context[KeyFileOption.path]
    named.isDatabaseGiven = context.values.source(of: CommonOptions.database) == .commandLine
    named.isDeep = try context[deep]
    named.longTransaction = try context[longTransaction]
    named.maxWait = try context[maxWait]
    return try DoctorRequest(named, environment: context.environment)
  }
}

extension DoctorReport: Presentable {
  /// 69 without the database, 1 when something is wrong; warnings are a failure where they are named.
  func exitCode(failingOn least: DoctorCommand.FailOn) -> ExitCode {
    guard isDatabaseReached else { return .unreachable }
    let warnings = least == .warning ? count(.warning) : 0
    return count(.wrong) + warnings > 0 ? .jobFailed : .done
  }

  var json: JSONValue {
    [
      "database_reached": .bool(isDatabaseReached),
      "counts": .object(
        Finding.State.allCases.map { .init(name: $0.rawValue, value: .count(count($0))) }),
      "findings": .array(
        findings.map { finding in
          [
            "check": .string(finding.check), "state": .string(finding.state.rawValue),
            "seen": .string(finding.seen), "advice": .text(finding.advice),
          ]
        }),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let shown: [Finding.State] = listsAll ? [.wrong, .warning, .ok, .skipped] : [.wrong, .warning]
    let findings = shown.flatMap { state in self.findings.filter { $0.state == state } }
    let states = findings.map(\.state.rawValue.count).max() ?? 0
    let checks = findings.map(\.check.count).max() ?? 0
    let lines = findings.map { finding in
      let state =
        finding.state.rawValue + String(repeating: " ", count: states - finding.state.rawValue.count)
      let check = finding.check + String(repeating: " ", count: checks - finding.check.count)
      let shown = finding.state.colour.map { paint(state, $0) } ?? state
      let advice =
        finding.advice.map { String(repeating: " ", count: states + 2) + "-> \(printable($0))\n" } ?? ""
      return "\(shown)  \(check)  \(printable(finding.seen))\n\(advice)"
    }
    return (lines + (lines.isEmpty ? [] : ["\n"])).joined() + summary
  }

  private var summary: String {
    let (warnings, passed, skipped) = (count(.warning), count(.ok), count(.skipped))
    let counts = [
      count(.wrong) > 0 ? "\(count(.wrong)) wrong" : nil,
      warnings > 0 ? "\(warnings) \(warnings == 1 ? "warning" : "warnings")" : nil,
      "\(passed) \(passed == 1 ? "check" : "checks") passed", skipped > 0 ? "\(skipped) skipped" : nil,
    ]
    return counts.compactMap { $0 }.joined(separator: ", ") + (listsAll ? "" : " (--all lists them)") + "\n"
  }
}

extension Finding.State {
  fileprivate var colour: Paint.Colour? {
    switch self {
    case .ok: .green
    case .warning: .yellow
    case .wrong: .red
    case .skipped: nil
    }
  }
}
