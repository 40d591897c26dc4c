import Administration
import CommandLineTool
import Formatting
import FoundationEssentials
import JobQueue

/// `analysisctl users set-plan` and `analysisctl users set-zone`.
enum UsersSetCommand {
  static let plan = Argument("plan", .string, help: "The plan's name; see analysisctl plans.")
  static let zone = Argument("zone", .string, help: "An IANA time zone, for instance Asia/Jakarta.")
  static let from = Option<Date?>("from", .time, help: "From when it holds; from now on unless given.")

  static func plan(_ dependencies: Dependencies) -> Command {
    Command(
      "set-plan", abstract: "Give a user a plan.",
      discussion:
        "The plan that holds when a job may run decides its limit; what is used already stays used.",
      examples: [
        Example("analysisctl users set-plan u1 premium", "From now on."),
        Example("analysisctl users set-plan u1 free --from 2026-12-01T00:00:00+07:00", "From a moment on."),
      ],
      inputs: [from, ReasonOption.reason, UsersCommand.user, plan],
      exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
    ) { context in
      let (user, plan) = (try context.values[UsersCommand.user], try context.values[plan])
      let from = try context.values[from]?.timeIntervalSince1970
      let reason = try context.values[ReasonOption.reason]
      return try await context.withSession(dependencies) { session in
        try await UserDirectory(session.database).setPlan(
          user, plan: plan, from: from, by: session.actor(reason))
        let changed = UsersSetResponse(user: user, name: "plan", value: plan, from: from)
        try session.view.show(changed, by: UsersSetPresenter.self)
        return .done
      }
    }
  }

  static func zone(_ dependencies: Dependencies) -> Command {
    Command(
      "set-zone", abstract: "Set the time zone in which a user's months are counted.",
      discussion: "Jobs that are submitted keep the month in which they count.",
      examples: [
        Example("analysisctl users set-zone u1 Europe/Berlin", "For what is submitted from now on.")
      ],
      inputs: [ReasonOption.reason, UsersCommand.user, zone],
      exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
    ) { context in
      let (user, zone) = (try context.values[UsersCommand.user], try context.values[zone])
      let reason = try context.values[ReasonOption.reason]
      return try await context.withSession(dependencies) { session in
        try await UserDirectory(session.database).setZone(
          user, zone: zone, by: session.actor(reason))
        let changed = UsersSetResponse(user: user, name: "zone", value: zone, from: nil)
        try session.view.show(changed, by: UsersSetPresenter.self)
        return .done
      }
    }
  }
}

/// What was set.
struct UsersSetResponse: Sendable, Equatable {
  let user: String
  let name: String
  let value: String
  /// Seconds since 1970; nil for now.
  let from: Double?
}

/// Says what was set.
enum UsersSetPresenter: Presenter {
  static func json(_ response: UsersSetResponse) -> JSONValue {
    .object([
      .init(name: "user", value: .string(response.user)),
      .init(name: response.name, value: .string(response.value)),
      .init(name: "from", value: .time(response.from)),
    ])
  }

  static func text(_ response: UsersSetResponse, width: Int?, paint: Paint) -> String {
    let from = response.from.map { " from \(Moment.short($0))" } ?? ""
    return "\(response.name) of \(printable(response.user)): \(printable(response.value))\(from)\n"
  }
}
