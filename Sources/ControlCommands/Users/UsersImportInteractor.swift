import CommandLineTool
import JobQueue
import PostgreSQL

/// What became of each answer.
struct UsersImportResponse: Sendable, Equatable {
  struct Line: Sendable, Equatable {
    let line: Int
    /// Nil where the line could not be read.
    let user: String?
    let outcome: ImportOutcome
  }

  let lines: [Line]

  var exitCode: ExitCode {
    if lines.isEmpty { return .nothingToDo }
    let isRefused = lines.contains { if case .refused = $0.outcome { true } else { false } }
    return isRefused ? .refused : .done
  }
}

/// Imports profile answers.
struct UsersImportInteractor: Sendable {
  let database: ConnectionPool

  func answer(_ entries: [ProfileFile.Entry]) async throws -> UsersImportResponse {
    let answers = entries.compactMap { try? $0.answer.get() }
    var outcomes = try await UserDirectory(database).importProfiles(answers)[...]
    let lines = entries.map { entry -> UsersImportResponse.Line in
      switch entry.answer {
      case .failure(let fault):
        return .init(line: entry.line, user: nil, outcome: .refused(fault.sentence))
      case .success(let answer):
        let outcome = outcomes.popFirst() ?? .refused("The database gave no answer.")
        return .init(line: entry.line, user: answer.id, outcome: outcome)
      }
    }
    return UsersImportResponse(lines: lines)
  }
}
