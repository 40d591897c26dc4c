import CommandLineTool
import Support

/// `--metrics-file`, of the commands that timers and cron run: how the last run went, for the textfile collector of
/// Prometheus' node_exporter.
struct RunMetrics: Sendable {
  static let file = Option<String?>(
    "metrics-file", .metricsFile, environment: "ANALYSIS_METRICS_FILE",
    help:
      "Write to this file how the run went, for node_exporter's textfile collector; its name ends in .prom. What other "
      + "commands wrote there stays; each timer needs a file of its own.")

  static let success = MetricDefinition(
    "analysis_run_success", .gauge, labels: ["command"],
    help: "1 when the last run did what it should or had nothing to do, else 0")
  static let exitCode = MetricDefinition(
    "analysis_run_exit_code", .gauge, labels: ["command"], help: "Exit code of the last run")
  static let duration = MetricDefinition(
    "analysis_run_duration_seconds", .gauge, labels: ["command"], help: "How long the last run took")
  static let finishedAt = MetricDefinition(
    "analysis_run_timestamp_seconds", .gauge, labels: ["command"],
    help: "When the last run ended, in seconds since 1970")
  static let succeededAt = MetricDefinition(
    "analysis_run_last_success_timestamp_seconds", .gauge, labels: ["command"],
    help: "When the last run that succeeded ended, in seconds since 1970")

  static let all = [success, exitCode, duration, finishedAt, succeededAt]

  /// The command that ran: `report usage`.
  let command: String
  /// The exit codes that are no failure of it.
  let successes: Set<ExitCode>
  private let startedAt = ContinuousClock.now

  init(_ command: String, successes: Set<ExitCode>) {
    self.command = command
    self.successes = successes
  }

  /// Runs the body, and writes how it went to the file that the context names. Where the file cannot be
  /// written it says so, and the run goes on as if it had been.
  func over(
    _ context: ControlContext, _ body: (ControlContext) async throws -> ExitCode
  ) async throws -> ExitCode {
    guard let path = try context[Self.file] else { return try await body(context) }
    let outcome: Result<ExitCode, any Error>
    do {
      outcome = .success(try await body(context))
    } catch {
      outcome = .failure(error)
    }
    let code =
      switch outcome {
      case .success(let code): code
      case .failure(let error): Self.exitCode(of: error)
      }
    do throws(SystemError) {
      try write(code, to: path, at: UnixTime.now.secondsSince1970)
    } catch {
      context.console.say("The metrics of this run could not be written: \(error)")
    }
    return try outcome.get()
  }

  /// What the program ends with after an error.
  private static func exitCode(of error: any Error) -> ExitCode {
    switch error {
    case is UsageError: .usage
    case let error as CommandFailure: error.exitCode
    case let error as WriteError: error.isBrokenPipe ? .done : error.isFullDisk ? .tryLater : .internalError
    default: FailureMessage.failure(for: error)?.exitCode ?? .internalError
    }
  }

  /// Writes the file, whole or not at all, readable by node_exporter, which is another user.
  func write(_ code: ExitCode, to path: String, at end: Double) throws(SystemError) {
    let isSuccess = successes.contains(code)
    let succeededAt = isSuccess ? end : lastSuccess(in: path)
    let others = otherSamples(in: path)
    func family(_ definition: MetricDefinition, _ value: Double?) -> MetricFamily {
      MetricFamily(
        definition, (value.map { [MetricSample([command], $0)] } ?? []) + others[definition.name, default: []]
      )
    }
    let text = Exposition.text([
      family(Self.success, isSuccess ? 1 : 0), family(Self.exitCode, Double(code.code)),
      family(Self.duration, (ContinuousClock.now - startedAt).inSeconds), family(Self.finishedAt, end),
      family(Self.succeededAt, succeededAt),
    ])
    var file = try AtomicFile(path, mode: 0o644)
    try file.write(text)
    _ = try file.commit()
  }

  /// When a run succeeded last, as the file of the run before says; nil where it says nothing.
  private func lastSuccess(in path: String) -> Double? {
    Self.samples(in: path).first { $0.metric == Self.succeededAt.name && $0.command == command }?.value
  }

  /// What commands that were run before this one wrote to the file, by the metrics' names.
  private func otherSamples(in path: String) -> [String: [MetricSample]] {
    Dictionary(grouping: Self.samples(in: path).filter { $0.command != command }, by: \.metric).mapValues {
      $0.map { MetricSample([$0.command], $0.value) }
    }
  }

  /// What a file of ours holds; nothing where there is none.
  private static func samples(in path: String) -> [(metric: String, command: String, value: Double)] {
    guard let bytes = try? FileContent.read(path, limit: 1 << 16) else { return [] }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
      guard let match = line.wholeMatch(of: /([a-z_]+)\{command="([a-z -]+)"\} (\S+)/) else { return nil }
      return Double(match.output.3).map { (String(match.output.1), String(match.output.2), $0) }
    }
  }
}

extension ValueFormat where Value == String {
  /// A path whose name ends in `.prom`: node_exporter reads no other.
  fileprivate static var metricsFile: Self {
    path.refined {
      $0.hasSuffix(".prom") ? nil : "does not end in .prom, and node_exporter reads no other file"
    }
  }
}
