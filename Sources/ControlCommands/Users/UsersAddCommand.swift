import Administration
import CommandLineTool
import Formatting
import JobQueue
import PostgreSQL

/// `analysisctl users add`.
enum UsersAddCommand {
  static let plan = Option("plan", .string, default: "free", help: "The plan's name; see analysisctl plans.")
  static let zone = Option<String?>(
    "zone", .string,
    help: "The IANA time zone in which the user's months are counted; the installation's unless given.")
  static let name = Option<String?>("name", .string, help: "The user's name; kept apart from the account.")
  static let email = Option<String?>("email", .string, help: "The user's e-mail address; kept likewise.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "add", abstract: "Add a user.",
      discussion: "A user who is there already is left as they are, and the exit code is 5.",
      examples: [Example("analysisctl users add u1 --plan free --zone Asia/Jakarta", "Add a user.")],
      inputs: [plan, zone, name, email, UsersCommand.user],
      exitCodes: [.done, .refused, .nothingToDo, .usage, .unreachable, .tryLater]
    ) { context in
      let user = NewUser(
        reference: try context.values[UsersCommand.user], plan: try context.values[plan],
        zone: try context.values[zone], name: try context.values[name], email: try context.values[email])
      return try await context.withSession(dependencies) { session in
        let response = try await UsersAddInteractor(database: session.database).answer(user)
        try session.view.show(response, by: UsersAddPresenter.self)
        return response.added.isNew ? .done : .nothingToDo
      }
    }
  }
}

/// A user who was asked to be added.
struct UsersAddResponse: Sendable, Equatable {
  let reference: String
  let added: AddedUser
}

/// Adds a user.
struct UsersAddInteractor: Sendable {
  let database: ConnectionPool

  func answer(_ user: NewUser) async throws -> UsersAddResponse {
    UsersAddResponse(reference: user.reference, added: try await UserDirectory(database).add(user))
  }
}

/// Says whether a user is new.
enum UsersAddPresenter: Presenter {
  static func json(_ response: UsersAddResponse) -> JSONValue {
    [
      "user": .string(response.reference), "id": .string(String(response.added.userID)),
      "shard": .count(response.added.shard), "created": .bool(response.added.isNew),
    ]
  }

  static func text(_ response: UsersAddResponse, width: Int?, paint: Paint) -> String {
    let user = printable(response.reference)
    return response.added.isNew
      ? "added user \(user)\n"
      : "user \(user) is there already and was left unchanged; see analysisctl users set-plan and set-zone\n"
  }
}
