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
    "lift_clinics": "let {} see all clinics", "list_reviews": "listed {}",
    "move_images": "moved images to {}",
    "pause": "paused {}",
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
  var words: String { around.before + named + around.after }

  /// The same with links to what the dashboard has a page of.
  var html: HTML { "\(around.before)\(linked)\(around.after)" }

  /// What stands before the object and behind it.
  private var around: (before: String, after: String) {
    let parts = (Self.sentences[action] ?? "\(action) {}").split(
      separator: "{}", maxSplits: 1, omittingEmptySubsequences: false
    ).map { part in
      String(part).replacing(/\{(\w+)\}/) { details[String($0.1)]?.text ?? "" }
    }
    return (parts[0], parts[1])
  }

  /// `job` and `12` of `job:12`; the second is nil for what is many, or one of its kind.
  private var kind: (name: Substring, of: Substring?) {
    let parts = object.split(separator: ":", maxSplits: 1)
    return (parts.first ?? "", parts.count == 2 ? parts[1] : nil)
  }

  /// The object in words: `job 12`, `user #7`, `3 jobs`.
  private var named: String {
    switch kind {
    case ("user", let number?): "user #\(number)"
    case ("report", let report?): "report \(report.replacing(":", with: " of "))"
    case (let name, let number?): "\(name) \(number)"
    case ("to_review", nil): "what is to be reviewed"
    case (_, nil): many.map { "\($0.count) \(object)" } ?? object
    }
  }

  /// The numbers of the jobs or users that one entry is about.
  private var many: [Int64]? { details[object]?.numbers }

  private static let mostLinked = 5

  private var linked: HTML {
    switch kind {
    case ("job", let number?): return .link("/jobs/\(number)", [], named)
    case ("user", let number?): return .link("/audit", [("user", "#\(number)")], named)
    case ("jobs", nil):
      let links = (many ?? []).map { " \(HTML.link("/jobs/\($0)", [], "\($0)"))" as HTML }
      return "\(named):\(Array(links.prefix(Self.mostLinked)))\(links.count > Self.mostLinked ? " …" : "")"
    default: return "\(named)"
    }
  }

  /// The parts of the detail.
  private var details: [String: Part] {
    detail.flatMap { try? JSONDecoder().decode([String: Part].self, from: Data($0.utf8)) } ?? [:]
  }

  /// One of them, where it is a text, a number, or a list of numbers.
  private struct Part: Decodable {
    let text: String?
    let numbers: [Int64]?

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      text = (try? value.decode(String.self)) ?? (try? value.decode(Int64.self)).map { String($0) }
      numbers = try? value.decode([Int64].self)
    }
  }
}
