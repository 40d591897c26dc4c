import FoundationEssentials
import HTTPServing
import Support

extension AuditEntry {
  /// What was done by the name of its action: `{}` stands for what it was done to, `{plan}` for a part of the detail.
  static let sentences = [
    "accept_share": "accepted {}", "add_clinic": "added {}", "add_login_code": "made a log-in code for {}",
    "add_plan": "added {}", "add_token": "made a token for {}", "add_user": "added {} with plan {plan}",
    "add_webhook": "added {} on {host}", "assign_clinic": "assigned {} to a clinic",
    "begin_session": "began a session of {}", "cancel": "cancelled {}", "close_month": "closed {}",
    "erase": "erased {}", "export": "exported all of {}", "grant_clinics": "let {} see clinics",
    "lift_clinics": "let {} see all clinics", "list_reviews": "listed {}", "pause": "paused {}",
    "purge": "purged {}", "read_image": "saw the picture of {}", "read_result": "read the result of {}",
    "remove_key": "removed {}", "remove_webhook": "removed {} on {host}", "rename": "renamed {}",
    "replay_webhook": "had {events} events of {} sent again", "report": "made {}",
    "request_share": "asked for {}", "resume": "resumed {}", "retry": "retried {}", "review": "reviewed {}",
    "revoke_clinics": "took clinics from what {} sees", "revoke_share": "revoked {}",
    "revoke_token": "revoked a token of {}", "rotate_keys": "put images under {}",
    "set_clinic": "changed {}", "set_limit": "set the limit of {}", "set_period": "set the months of {}",
    "set_plan": "gave {} the plan {plan}", "set_price": "set the price of {}",
    "set_product": "set what {} has switched off", "set_profile": "changed the profile of {}",
    "set_setting": "set {} to {after}", "set_zone": "set the time zone of {} to {zone}",
    "test_webhook": "had a test sent to {}", "uncancel": "took back the cancellation of {}",
    "worker_start": "started {}", "worker_stop": "stopped {}",
  ]

  /// What was done to what, for a person. An action that this version does not know is named as it is.
  var words: String {
    let (before, after) = around
    return before + named + after
  }

  /// The same with links to what the dashboard has a page of.
  var html: HTML {
    let (before, after) = around
    return "\(before)\(linked)\(after)"
  }

  /// What stands before the object and behind it.
  private var around: (String, String) {
    let detail = detail.flatMap { try? JSONDecoder().decode([String: Part].self, from: Data($0.utf8)) } ?? [:]
    let parts = (Self.sentences[action] ?? "\(action) {}").split(
      separator: "{}", maxSplits: 1, omittingEmptySubsequences: false
    ).map { part in
      String(part).replacing(/\{(\w+)\}/) { detail[String($0.1)]?.text ?? "" }
    }
    return (parts[0], parts[1])
  }

  /// The object in words: `job 12`, `user #7`, `3 jobs`.
  private var named: String {
    let parts = object.split(separator: ":", maxSplits: 1)
    guard parts.count == 2 else {
      return many.map { "\($0.count) \(object)" }
        ?? (object == "to_review" ? "what is to be reviewed" : object)
    }
    return switch parts[0] {
    case "user": "user #\(parts[1])"
    case "report": "report \(parts[1].replacing(":", with: " of "))"
    default: "\(parts[0]) \(parts[1])"
    }
  }

  /// The numbers of the jobs or users that one entry is about.
  private var many: [Int64]? {
    struct Named: Decodable {
      let jobs, users: [Int64]?
    }
    let named = detail.flatMap { try? JSONDecoder().decode(Named.self, from: Data($0.utf8)) }
    return object == "jobs" ? named?.jobs : object == "users" ? named?.users : nil
  }

  private static let mostLinked = 5

  private var linked: HTML {
    if object.hasPrefix("job:") { return HTML.link("/jobs/\(object.dropFirst(4))", [], named) }
    if object.hasPrefix("user:") {
      return HTML.link("/audit", [("user", "#\(object.dropFirst(5))")], named)
    }
    guard object == "jobs", let many else { return "\(named)" }
    let links = many.prefix(Self.mostLinked).map { " \(HTML.link("/jobs/\($0)", [], "\($0)"))" as HTML }
    return "\(named):\(links)\(many.count > Self.mostLinked ? " …" : "")"
  }

  /// A part of the detail, where it is a text or a number.
  private struct Part: Decodable {
    let text: String?

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      text = (try? value.decode(String.self)) ?? (try? value.decode(Int64.self)).map { String($0) }
    }
  }
}
