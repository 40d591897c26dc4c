import CommandLineTool
import PostgreSQL
import Queue

/// Which roles may run which command. The owner of the schema and a superuser may run all of them.
enum CommandRoles {
  /// Who may run a command: any login with one of some roles.
  struct Entry: Sendable {
    let command: String
    let roles: [DatabaseRole]
  }

  /// Every role but the owner.
  private static let any = DatabaseRole.allCases.filter { $0 != .owner }

  /// The commands that ask the database, by name, each with the role first that is meant for it.
  static let all: [Entry] = [
    Entry(command: "account login", roles: [.administrator]),
    Entry(command: "account profile", roles: [.administrator]),
    Entry(command: "account register", roles: [.administrator]),
    Entry(command: "account save", roles: JobReviews.roles),
    Entry(command: "account subscribe", roles: [.administrator]),
    Entry(command: "account sync", roles: [.administrator]),
    Entry(command: "audit keep", roles: any),
    Entry(command: "audit list", roles: [.auditor]),
    Entry(command: "audit verify", roles: [.auditor]),
    Entry(command: "batches cancel", roles: [.operator, .submitter]),
    Entry(command: "batches list", roles: JobRights.readers + [.submitter]),
    Entry(command: "batches retry", roles: [.operator]),
    Entry(command: "batches show", roles: JobRights.readers + [.submitter]),
    Entry(command: "batches wait", roles: JobRights.readers + [.submitter]),
    Entry(command: "batches watch", roles: JobRights.readers + [.submitter]),
    Entry(command: "clinics", roles: [.administrator, .auditor]),
    Entry(command: "clinics add", roles: [.administrator]),
    Entry(command: "clinics assign", roles: [.administrator]),
    Entry(command: "clinics grant", roles: [.administrator]),
    Entry(command: "clinics list", roles: [.administrator, .auditor]),
    Entry(command: "clinics revoke", roles: [.administrator]),
    Entry(command: "clinics set", roles: [.administrator]),
    Entry(command: "clinics show", roles: [.administrator, .auditor]),
    Entry(command: "doctor", roles: any),
    Entry(command: "erase", roles: [.privacy]),
    Entry(command: "images migrate", roles: [.owner]),
    Entry(command: "jobs cancel", roles: [.operator, .submitter]),
    Entry(command: "jobs list", roles: JobRights.readers),
    Entry(command: "jobs retry", roles: [.operator]),
    Entry(command: "jobs show", roles: JobRights.readers),
    Entry(command: "jobs uncancel", roles: [.operator, .submitter]),
    Entry(command: "keys list", roles: any),
    Entry(command: "keys remove", roles: [.administrator]),
    Entry(command: "keys rotate", roles: [.owner]),
    Entry(command: "migrate", roles: [.owner]),
    Entry(command: "month", roles: [.reporter, .auditor]),
    Entry(command: "month close", roles: [.reporter]),
    Entry(command: "month list", roles: [.reporter, .auditor]),
    Entry(command: "pause", roles: [.operator]),
    Entry(command: "plans", roles: [.administrator, .reporter, .auditor]),
    Entry(command: "plans add", roles: [.administrator]),
    Entry(command: "plans list", roles: [.administrator, .reporter, .auditor]),
    Entry(command: "plans set-limit", roles: [.administrator]),
    Entry(command: "plans set-price", roles: [.administrator]),
    Entry(command: "products apply", roles: [.administrator]),
    Entry(command: "purge", roles: [.retention]),
    Entry(command: "reconcile", roles: [.operator, .auditor]),
    Entry(command: "report agreement", roles: JobReviews.roles + [.reporter]),
    Entry(command: "report analyses", roles: [.clinician]),
    Entry(command: "report calibration", roles: JobReviews.roles + [.reporter]),
    Entry(command: "report conditions", roles: [.reporter]),
    Entry(command: "report summary", roles: [.reporter, .auditor]),
    Entry(command: "report usage", roles: [.reporter, .auditor]),
    Entry(command: "resume", roles: [.operator]),
    Entry(command: "reviews add", roles: JobReviews.roles),
    Entry(command: "reviews comment", roles: JobReviews.roles),
    Entry(command: "reviews list", roles: JobReviews.roles),
    Entry(command: "roles check", roles: any),
    Entry(
      command: "serve",
      roles: [
        .operator, .auditor, .worker, .clinician, .reviewer, .administrator, .reporter, .submitter,
      ]),
    Entry(command: "settings", roles: any),
    Entry(command: "settings list", roles: any),
    Entry(command: "settings set", roles: [.administrator]),
    Entry(command: "share accept", roles: [.clinician]),
    Entry(command: "share list", roles: [.administrator, .clinician]),
    Entry(command: "share request", roles: [.administrator]),
    Entry(command: "share revoke", roles: [.administrator, .clinician]),
    Entry(command: "statement", roles: [.reporter]),
    Entry(command: "status", roles: [.operator, .auditor, .worker]),
    Entry(command: "submit", roles: [.submitter]),
    Entry(command: "users add", roles: [.administrator]),
    Entry(command: "users code", roles: [.administrator]),
    Entry(command: "users export", roles: [.privacy]),
    Entry(command: "users import", roles: [.administrator]),
    Entry(command: "users list", roles: [.administrator, .reporter, .auditor]),
    Entry(command: "users prefetch-photos", roles: [.administrator]),
    Entry(command: "users rename", roles: [.administrator]),
    Entry(command: "users set-period", roles: [.administrator]),
    Entry(command: "users set-photo", roles: [.administrator]),
    Entry(command: "users set-plan", roles: [.administrator]),
    Entry(command: "users set-zone", roles: [.administrator]),
    Entry(command: "users show", roles: [.administrator]),
    Entry(command: "users token add", roles: [.administrator]),
    Entry(command: "users token list", roles: [.administrator]),
    Entry(command: "users token revoke", roles: [.administrator]),
    Entry(command: "watch", roles: JobRights.readers),
    Entry(command: "webhooks add", roles: [.administrator]),
    Entry(command: "webhooks list", roles: [.administrator, .operator, .auditor]),
    Entry(command: "webhooks remove", roles: [.administrator]),
    Entry(command: "webhooks replay", roles: [.administrator]),
    Entry(command: "webhooks test", roles: [.administrator]),
  ]

  /// The roles of which any may run a command; none where no role helps.
  static func roles(for command: String) -> [DatabaseRole] {
    all.first { $0.command == command }?.roles ?? []
  }

  /// The commands that a login with some roles may run.
  static func commands(for roles: Set<DatabaseRole>) -> [String] {
    all.filter { roles.contains(.owner) || !roles.isDisjoint(with: $0.roles) }.map(\.command)
  }
}

// MARK: - Refusals

extension CommandRoles {
  /// Runs a part of a command. Where the server refuses it to a login that lacks a role, the error names the role and
  /// who can grant it.
  static func naming<R>(
    _ command: String, _ database: ConnectionPool, _ body: () async throws -> R
  ) async throws -> R {
    do {
      return try await body()
    } catch {
      guard server(error)?.lacksRole == true, let login = try? await DatabaseLogin.read(database) else {
        throw error
      }
      let (message, advice) = login.refusal(of: "analysisctl \(command)", needing: roles(for: command))
      throw CommandFailure(.permission, message, advice: advice)
    }
  }

  private static func server(_ error: any Error) -> PostgreSQLError? {
    error as? PostgreSQLError ?? (error as? JobQueueError)?.underlying as? PostgreSQLError
      ?? (error as? ReportsError)?.underlying as? PostgreSQLError
  }
}
