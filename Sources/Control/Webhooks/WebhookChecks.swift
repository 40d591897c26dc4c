import PostgreSQL
import Support

/// Whether webhooks receive how jobs end.
struct WebhookChecks: DatabaseCheck {
  let group = "webhooks"
  let needsSchema = true

  /// How long an event may be due before somebody should have sent it.
  private static let patience = 600.0

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    Self.judge(try await WebhookDirectory(database.pool).list(), now: UnixTime.now.secondsSince1970)
  }

  static func judge(_ webhooks: [Webhook], now: Double) -> [Finding] {
    guard !webhooks.isEmpty else { return [.ok("webhooks", "there are none")] }
    let found = webhooks.compactMap { webhook -> Finding? in
      let name = "webhook \(webhook.id) on \(webhook.host)"
      let reason = webhook.lastFailure.map { ": \($0)" } ?? ""
      if let offAt = webhook.offAt {
        return .wrong(
          "webhooks.off", "\(name) was switched off \(Moment.age(now - offAt)) ago\(reason)",
          "Have its receiver mended, then: analysisctl webhooks replay \(webhook.id) --failed. Or remove it.")
      }
      if webhook.failures > 0 {
        return .warning(
          "webhooks.failing", "\(name) has not taken what it was sent last\(reason)",
          "Have its receiver looked at: after three days without a success it is switched off.")
      }
      if let due = webhook.dueSince, now - due > Self.patience {
        return .warning(
          "webhooks.waiting",
          "\(webhook.waiting) events of \(name) wait to be sent, since \(Moment.age(now - due))",
          "Start a worker with --key-file, under whose keys the webhooks' secrets are.")
      }
      return nil
    }
    return found.isEmpty ? [.ok("webhooks", "\(webhooks.count) webhooks receive how jobs end")] : found
  }
}
