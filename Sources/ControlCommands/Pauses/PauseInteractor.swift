import Administration
import AnalysisCore
import CommandLineTool
import Formatting
import JobQueue
import PostgreSQL

/// What is to be paused.
struct PauseRequest: Sendable, Equatable {
  var scope: OperatorPause.Scope
  var reason: String?
  /// Seconds since 1970; nil for until it is resumed.
  var until: Double?
}

/// What a pause or its end came to.
struct PausesResponse: Sendable, Equatable {
  /// What was paused or resumed.
  let scope: OperatorPause.Scope
  /// `paused`, `changed`, `resumed` or `unchanged`.
  let outcome: String
  /// Every pause that is in force now.
  let inForce: [OperatorPause]
  /// What the operator should know beside it.
  var notes: [String] = []
}

/// Pauses.
struct PauseInteractor: Sendable {
  let database: ConnectionPool
  /// Who does it, for the audit.
  let actor: AuditActor

  func answer(_ request: PauseRequest) async throws -> PausesResponse {
    let pauses = PauseDirectory(database)
    let outcome: PauseDirectory.Outcome
    do {
      outcome = try await pauses.pause(
        request.scope, reason: request.reason, until: request.until, by: actor)
    } catch let error where error.code == .badRow {
      throw ControlError(
        .refused, error.message, advice: "Give a time that is still to come by the server's clock.")
    }
    return PausesResponse(
      scope: request.scope, outcome: outcome.rawValue, inForce: try await pauses.inForce(),
      notes: try await notes(request.scope))
  }

  /// An endpoint that no worker calls is perhaps misspelt, and perhaps only not started yet.
  private func notes(_ scope: OperatorPause.Scope) async throws -> [String] {
    guard case .endpoint = scope else { return [] }
    let reports = try await QueueStatus.read(database).workers.compactMap(\.report)
    let endpoints = reports.flatMap(\.endpoints)
    let names = Set(endpoints.map(\.name))
    let pause = OperatorPause(scope, by: "", since: 0)
    guard !names.isEmpty, !names.contains(where: { pause.stops(.throat, endpoint: $0) }) else { return [] }
    return [
      "No worker calls an endpoint of this name at present; those that are called: "
        + names.sorted().map(printable).joined(separator: ", ") + "."
    ]
  }
}

/// Ends pauses.
struct ResumeInteractor: Sendable {
  let database: ConnectionPool
  /// Who does it, for the audit.
  let actor: AuditActor

  func answer(_ scope: OperatorPause.Scope) async throws -> PausesResponse {
    let pauses = PauseDirectory(database)
    let resumed = try await pauses.resume(scope, by: actor)
    return PausesResponse(
      scope: scope, outcome: resumed ? "resumed" : "unchanged", inForce: try await pauses.inForce())
  }
}
