import Administration
import AnalysisCore
import CommandLineTool
import Formatting
import JobQueue
import PostgreSQL
import RemoteImages

/// `analysisctl users show`.
enum UsersShowCommand {
  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "show", abstract: "Show a user's plan, limit, use and profile.",
      examples: [Example("analysisctl users show u1", "One user.")],
      inputs: [UsersCommand.user], exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
    ) { context in
      let user = try context.values[UsersCommand.user]
      return try await context.withSession(dependencies) { session in
        let detail = try await UsersShowInteractor(database: session.database).answer(user)
        try session.view.show(detail, by: UsersShowPresenter.self)
        return .done
      }
    }
  }
}

/// Reads a user.
struct UsersShowInteractor: Sendable {
  let database: ConnectionPool

  func answer(_ user: String) async throws -> UserDetail {
    guard let detail = try await UserDirectory(database).show(user) else {
      throw ControlError(
        .refused, "there is no user \(printable(user))", advice: "Look with analysisctl users list.")
    }
    return detail
  }
}

/// Shows all that is kept of a user.
enum UsersShowPresenter: Presenter {
  static func json(_ user: UserDetail) -> JSONValue {
    [
      "user": .string(user.reference), "id": .string(String(user.userID)), "shard": .count(user.shard),
      "zone": .string(user.zone), "clinic": .text(user.clinic), "created_at": .time(user.createdAt),
      "plan": .text(user.plan),
      "plan_name": .text(user.planDisplayName), "month": .month(user.period), "limit": .count(user.limit),
      "used": .count(user.used), "remaining": .count(user.remaining), "analysed": .count(user.analysed),
      "open": .count(user.open), "refunded": .count(user.refunded), "refused": .count(user.refused),
      "plans": .array(user.planHistory.map { ["plan": .string($0.plan), "from": .time($0.from)] }),
      "profile": user.profile.map(profile) ?? .null,
    ]
  }

  private static func profile(_ profile: Profile) -> JSONValue {
    [
      "name": .text(profile.name), "email": .text(profile.email),
      "backend_subscription": .text(profile.backendSubscription),
      "backend_count": .count(profile.backendCount), "last_reset": .time(profile.lastReset),
      "photo_host": .text(photoHost(profile)), "updated_at": .time(profile.updatedAt),
    ]
  }

  /// Where the photo is; the rest of its address may be a secret.
  private static func photoHost(_ profile: Profile) -> String? {
    profile.photoURL.map { RemoteAddress.host(of: $0) ?? "unknown" }
  }

  static func text(_ user: UserDetail, width: Int?, paint: Paint) -> String {
    var facts = Facts([
      ("user", user.reference), ("clinic", user.clinic), ("plan", plan(user)), ("zone", user.zone),
      ("month", user.period.description),
      ("limit", user.limit.map(String.init) ?? "unlimited"), ("used", String(user.used)),
      ("remaining", user.remaining.map(String.init)), ("analysed", String(user.analysed)),
      ("open", String(user.open)), ("refunded", String(user.refunded)), ("refused", String(user.refused)),
      ("added", Moment.short(user.createdAt)),
    ])
    for entry in user.planHistory {
      facts.add("plan from", "\(entry.from.map { Moment.short($0) } ?? "the beginning"): \(entry.plan)")
    }
    if let profile = user.profile {
      facts.add("name", profile.name)
      facts.add("e-mail", profile.email)
      facts.add("backend plan", profile.backendSubscription)
      facts.add("backend count", profile.backendCount.map(String.init))
      facts.add("backend reset", Moment.short(profile.lastReset))
      facts.add("photo on", photoHost(profile))
    }
    return facts.text
  }

  private static func plan(_ user: UserDetail) -> String {
    guard let plan = user.plan else { return "none yet" }
    return user.planDisplayName.map { "\($0) (\(plan))" } ?? plan
  }
}
