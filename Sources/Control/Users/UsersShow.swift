import CommandLineTool
import Support

enum UsersShowCommand {
  static let command = ControlCommand(
    "show", abstract: "Show a user's plan, limit, use and profile.",
    examples: [Example("analysisctl users show u1", "One user.")],
    inputs: [UsersCommand.user], exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let user = try context[UsersCommand.user]
    return try await context.withSession { session in
      return try session.show(try await UserDirectory(session.database).required(user))
    }
  }
}

/// Shows all that is kept of a user.
extension UserDetail: Presentable {
  var json: JSONValue {
    [
      "user": .string(reference), "id": .string(String(userID)), "shard": .count(shard),
      "zone": .string(zone), "clinic": .text(clinic), "created_at": .time(createdAt),
      "plan": .text(plan),
      "plan_name": .text(planDisplayName), "month": .month(period), "anchor": .count(present?.anchor),
      "month_from": .text(present?.from.text), "next_reset": .text(present?.until.text),
      "next_anchor": .count(present?.next?.anchor), "next_anchor_from": .month(present?.next?.from),
      "limit": .count(limit),
      "used": .count(used), "remaining": .count(remaining), "analysed": .count(analysed),
      "open": .count(open), "refunded": .count(refunded), "refused": .count(refused),
      "plans": .array(planHistory.map { ["plan": .string($0.plan), "from": .time($0.from)] }),
      "profile": profile?.json ?? .null, "picture": picture ?? .null,
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    var facts = Facts([
      ("user", reference), ("clinic", clinic), ("plan", shownPlan), ("zone", zone),
      ("month", period.description), ("from", present?.from.text), ("resets", present?.until.text),
      ("anchor", anchorText),
      ("limit", limit.map(String.init) ?? "unlimited"), ("used", String(used)),
      ("remaining", remaining.map(String.init)), ("analysed", String(analysed)),
      ("open", String(open)), ("refunded", String(refunded)), ("refused", String(refused)),
      ("added", Moment.short(createdAt)),
    ])
    for entry in planHistory {
      facts.add("plan from", "\(entry.from.map { Moment.short($0) } ?? "the beginning"): \(entry.plan)")
    }
    if let profile {
      facts.add("name", profile.name)
      facts.add("e-mail", profile.email)
      facts.add("birthday", profile.birthday)
      facts.add("address", profile.address)
      facts.add("gender", profile.gender)
      facts.add("endpoint plan", profile.endpointSubscription)
      facts.add("endpoint count", profile.endpointCount.map(String.init))
      facts.add("endpoint reset", Moment.short(profile.lastReset))
      facts.add("photo on", profile.photoHost)
    }
    facts.add("picture", pictureText)
    return facts.text
  }

  /// On which day months end, where that is or will be another than the last: `15`, `1, from 2027-01 on 15`.
  private var anchorText: String? {
    guard let present, present.anchor != 1 || present.next != nil else { return nil }
    return "\(present.anchor)" + (present.next.map { ", from \($0.from) on \($0.anchor)" } ?? "")
  }

  /// Which picture stands for the user: `own photo on img.example.org`, `logo of pharmacy north`, `initials AB`.
  private var pictureText: String? {
    switch appearance?.picture {
    case .photo(let url): "own photo on \(RemoteAddress.host(of: url) ?? "unknown")"
    case .logo(let logo):
      "logo of \(logo == appearance?.logo && appearance?.kind != .pharmacy ? "clinic" : "pharmacy") \(clinic ?? "")"
    case .initials(let initials): "initials \(initials)"
    case nil: nil
    }
  }

  private var picture: JSONValue? {
    switch appearance?.picture {
    case .photo(let url): ["of": "photo", "host": .text(RemoteAddress.host(of: url))]
    case .logo(let logo): ["of": "logo", "clinic": .text(clinic), "sha256": .string(logo)]
    case .initials(let initials): ["of": "initials", "initials": .string(initials)]
    case nil: nil
    }
  }

  private var shownPlan: String {
    guard let plan else { return "none yet" }
    return planDisplayName.map { "\($0) (\(plan))" } ?? plan
  }
}

extension Profile {
  fileprivate var json: JSONValue {
    [
      "name": .text(name), "email": .text(email), "birthday": .text(birthday), "address": .text(address),
      "gender": .text(gender), "endpoint_subscription": .text(endpointSubscription),
      "endpoint_count": .count(endpointCount), "last_reset": .time(lastReset), "photo_host": .text(photoHost),
      "updated_at": .time(updatedAt),
    ]
  }

  /// Where the photo is; the rest of its address may be a secret.
  fileprivate var photoHost: String? {
    photoURL.map { RemoteAddress.host(of: $0) ?? "unknown" }
  }
}
