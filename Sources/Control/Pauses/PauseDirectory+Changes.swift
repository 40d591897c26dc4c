public import PostgreSQL
public import Queue
import Support

extension PauseDirectory {
  /// What became of a wish to pause.
  public enum Outcome: String, Sendable, ColumnValue {
    /// It runs no more.
    case paused
    /// It was paused already; the reason or the end is another now.
    case changed
    /// It was paused already, for the same reason and as long.
    case unchanged
  }

  /// Pauses something.
  ///
  /// - Parameters:
  ///   - reason: for whoever looks at it, at most 500 characters; nil for none.
  ///   - until: when it ends by itself, in seconds since 1970; nil for when it is resumed.
  ///   - actor: who does it, for the audit; nil for what the server knows itself.
  /// - Throws: `badRow` for a time that has passed or a text that is too long.
  public func pause(
    _ scope: OperatorPause.Scope, reason: String?, until: Double?, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Outcome {
    let (scope, name) = scope.columns
    return try await Statement(
      SQLFunction("pause", 4),
      [
        .text(scope), .text(storable(name)), .text(reason.map(storable)), .timestamp(timestamp(until)),
      ], as: Outcome.self, while: "pausing"
    ).run(on: database, as: actor)
  }

  /// Ends a pause; answers whether there was one.
  ///
  /// - Parameter actor: who does it, for the audit; nil for what the server knows itself.
  public func resume(
    _ scope: OperatorPause.Scope, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Bool {
    let (scope, name) = scope.columns
    return try await Statement(
      SQLFunction("resume", 2), [.text(scope), .text(storable(name))], as: Bool.self, while: "resuming"
    ).run(on: database, as: actor)
  }
}

extension OperatorPause {
  /// `ear: paused by postgres since 2026-11-21 10:00:00Z until …: model upgrade`.
  public var line: String {
    var line = "\(scope): paused by \(by) since \(Moment.short(since))"
    if let until { line += " until \(Moment.short(until))" }
    if let reason { line += ": \(reason)" }
    return printable(line)
  }
}
