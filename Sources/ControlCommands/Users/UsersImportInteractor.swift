import Administration
import CommandLineTool
import JobQueue
import PostgreSQL
import RemoteImages

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
  /// Where photos may come from; none for leaving photos out.
  var photoHosts: [AllowedHost] = []
  /// Who does it, for the audit.
  let actor: AuditActor

  func answer(_ entries: [ProfileFile.Entry]) async throws -> UsersImportResponse {
    let judged = entries.map(judge)
    let answers = judged.compactMap { try? $0.answer.get() }
    var outcomes = try await UserDirectory(database).importProfiles(answers, by: actor)[...]
    let lines = judged.map { entry -> UsersImportResponse.Line in
      switch entry.answer {
      case .failure(let fault):
        return .init(line: entry.line, user: fault.user, outcome: .refused(fault.sentence))
      case .success(let answer):
        let outcome = outcomes.popFirst() ?? .refused("The database gave no answer.")
        return .init(line: entry.line, user: answer.id, outcome: outcome)
      }
    }
    return UsersImportResponse(lines: lines)
  }

  /// The same entry, without a photo that nobody may fetch; refused where its photo is elsewhere than allowed.
  private func judge(_ entry: ProfileFile.Entry) -> ProfileFile.Entry {
    guard case .success(var answer) = entry.answer, let photo = answer.photoURL else { return entry }
    guard !photoHosts.isEmpty else {
      answer.photoURL = nil
      return ProfileFile.Entry(line: entry.line, answer: .success(answer))
    }
    do throws(RemoteImageError) {
      _ = try RemoteAddress(photo, among: photoHosts)
      return entry
    } catch {
      let fault = ProfileFile.Fault(sentence: "Photo: \(error.message)", user: answer.id)
      return ProfileFile.Entry(line: entry.line, answer: .failure(fault))
    }
  }
}
