import PostgreSQL
import Queue
import Support

/// By what a webhook is known: `W3`.
struct WebhookID: Hashable, Sendable, ColumnValue, CustomStringConvertible {
  let value: Int32

  /// The id with a number.
  init(_ value: Int32) {
    self.value = value
  }

  /// The id with a number.
  init(stored: Int32) { self.init(stored) }

  /// Reads `W3` or `3`; nil for anything else.
  init?(_ text: String) {
    let digits = text.first == "W" || text.first == "w" ? text.dropFirst() : text[...]
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int32(digits), value > 0 else {
      return nil
    }
    self.value = value
  }

  /// `W3`.
  var description: String { "W\(value)" }
}

/// By what an event is known, to its receiver too: `evt_0_17`.
struct WebhookEventID: Hashable, Sendable, CustomStringConvertible, RenamedColumns {
  static let columns = ["number": "event"]

  /// The shard of the job that it is about.
  let shard: Int16
  let number: Int64

  /// The id with a shard and a number.
  init(shard: Int16, number: Int64) {
    self.shard = shard
    self.number = number
  }

  /// Reads `evt_0_17`; nil for anything else.
  init?(_ text: String) {
    let parts = text.split(separator: "_", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == "evt", let shard = Int16(parts[1]), let number = Int64(parts[2]),
      shard >= 0, number > 0
    else { return nil }
    self.init(shard: shard, number: number)
  }

  /// `evt_0_17`.
  var description: String { "evt_\(shard)_\(number)" }
}

/// A webhook: of its address the host alone.
struct Webhook: Sendable, Equatable, RenamedColumns {
  static let columns = ["id": "webhook"]

  /// Whose jobs it receives.
  enum Owner: Sendable, Equatable {
    /// Those of all users of a clinic, by its name.
    case clinic(String)
    /// Those of a user.
    case user(String)
  }

  let id: WebhookID
  /// Whose jobs it receives.
  let owner: Owner
  let host: String
  /// Whether it receives what was found, too.
  let hasFindings: Bool
  /// When it was added, and when it last took an event and last did not, in seconds since 1970.
  let createdAt: Double
  /// When it last took an event.
  let lastSuccessAt: Double?
  /// When it last did not.
  let lastFailureAt: Double?
  /// Why it did not.
  let lastFailure: String?
  /// How often in a row it has failed now.
  let failures: Int
  /// Since when it is switched off; nil: it is on.
  let offAt: Double?
  /// Why it is off: `failed` or `gone`.
  let offReason: String?
  /// How many events are still to be sent to it; 10,001 stands for more than 10,000.
  let waiting: Int
  /// Since when the first of them is due; later than now for one that is tried again then.
  let dueSince: Double?
}

/// What came of an event.
struct WebhookEventState: Sendable, Equatable, Decodable {
  /// Whether it was delivered or given up.
  let isOver: Bool
  /// How often it has been tried.
  let attempts: Int
  /// When it was delivered, in seconds since 1970.
  let deliveredAt: Double?
  /// Why it was not.
  let failure: String?

  /// Whether it was delivered.
  var isDelivered: Bool { deliveredAt != nil }
}

/// The webhooks of a database.
struct WebhookDirectory: Sendable {
  private let database: ConnectionPool

  /// Which events are sent again.
  enum Replay: Sendable {
    /// Those since a moment, in seconds since 1970.
    case since(Double)
    case event(WebhookEventID)
    /// Those that were never delivered.
    case failed
  }

  /// The webhooks of a database.
  init(_ database: ConnectionPool) {
    self.database = database
  }

  /// Those that the login sees, by number.
  func list() async throws(JobQueueError) -> [Webhook] {
    try await Statement(
      SQLFunction("list_webhooks", 0), as: [Webhook].self, while: "listing the webhooks"
    ).run(on: database)
  }

  /// Adds one, with its secret as it is encrypted for its address.
  ///
  /// - Throws: `notFound` for an unknown user or clinic; `badRow` where the address is refused.
  func add(
    _ url: String, of owner: Webhook.Owner, secret: [UInt8], hasFindings: Bool, allowsPlainHTTP: Bool,
    by actor: AuditActor?
  ) async throws(JobQueueError) -> WebhookID {
    let parameters: [Parameter]
    switch owner {
    case .clinic(let name): parameters = [.int16(nil), .text(nil), .text(storable(name))]
    case .user(let name):
      parameters = [
        .int16(try await ShardDirectory(database).shard(of: name)), .text(storable(name)), .text(nil),
      ]
    }
    let id = try await Statement(
      SQLFunction("add_webhook", 7),
      parameters + [.text(storable(url)), .bytes(secret), .bool(hasFindings), .bool(allowsPlainHTTP)],
      as: WebhookID?.self, while: "adding a webhook"
    ).run(on: database, as: actor)
    guard let id else {
      switch owner {
      case .clinic(let name):
        throw JobQueueError(
          .notFound, "There is no clinic \(name).", advice: "Add it with analysisctl clinics add.")
      case .user(let name): throw UserDirectory.unknown(name)
      }
    }
    return id
  }

  /// Removes one, with the events that were not sent yet.
  func remove(_ id: WebhookID, by actor: AuditActor?) async throws(JobQueueError) {
    try await Statement(
      SQLFunction("remove_webhook", 1), [.int32(id.value)], while: "removing webhook \(id)"
    ).run(on: database, as: actor)
  }

  /// Has a worker send one an event that is about no job.
  func test(_ id: WebhookID, by actor: AuditActor?) async throws(JobQueueError) -> WebhookEventID {
    try await Statement(
      SQLFunction("test_webhook", 1), [.int32(id.value)], as: WebhookEventID.self,
      while: "testing webhook \(id)"
    ).run(on: database, as: actor)
  }

  /// What came of an event; nil where there is none of that number any more.
  func state(of event: WebhookEventID) async throws(JobQueueError) -> WebhookEventState? {
    try await Statement(
      SQLFunction("webhook_event_state", 2), [.int16(event.shard), .int64(event.number)],
      as: WebhookEventState?.self, while: "looking at an event of a webhook"
    ).run(on: database)
  }

  /// Has events of one sent again, and switches it on if it was off; answers how many.
  func replay(
    _ id: WebhookID, _ which: Replay, by actor: AuditActor?
  ) async throws(JobQueueError) -> Int {
    let parameters: [Parameter]
    switch which {
    case .since(let moment):
      parameters = [
        .timestamp(Timestamp(secondsSince1970: moment)), .int16(nil), .int64(nil), .bool(false),
      ]
    case .event(let event):
      parameters = [.timestamp(nil), .int16(event.shard), .int64(event.number), .bool(false)]
    case .failed: parameters = [.timestamp(nil), .int16(nil), .int64(nil), .bool(true)]
    }
    return try await Statement(
      SQLFunction("replay_webhook", 5), [.int32(id.value)] + parameters, as: Int.self,
      while: "sending events of webhook \(id) again"
    ).run(on: database, as: actor)
  }

  // MARK: Keys

  /// How many secrets are under each key of the key file, by the key's number.
  func keys() async throws(JobQueueError) -> [Int64: Int] {
    let uses = try await Statement(
      SQLFunction("webhook_keys", 0), as: [KeyUse].self, while: "counting the webhooks' keys"
    ).run(on: database)
    return Dictionary(uniqueKeysWithValues: uses.map { ($0.key, $0.webhooks) })
  }

  private struct KeyUse: Decodable {
    let key: Int64
    let webhooks: Int
  }

  /// A webhook's secret as it is encrypted, and the address for which it is.
  struct StoredSecret: Sendable, RenamedColumns {
    static let columns = ["id": "webhook", "bytes": "secret"]

    let id: WebhookID
    /// Its address; all of it but the host may be a secret.
    let url: String
    /// The secret as it is encrypted.
    let bytes: [UInt8]
  }

  /// The secrets of all webhooks, which the schema's owner may read.
  func secrets() async throws(JobQueueError) -> [StoredSecret] {
    try await Statement(
      SQLFunction("webhook_secrets", 0), as: [StoredSecret].self, while: "reading the webhooks' secrets"
    ).run(on: database)
  }

  /// Stores a secret as it is under another key; false where it was changed or removed meanwhile.
  func rewrap(_ secret: StoredSecret, to bytes: [UInt8]) async throws(JobQueueError) -> Bool {
    try await Statement(
      SQLFunction("rewrap_webhook", 3), [.int32(secret.id.value), .bytes(secret.bytes), .bytes(bytes)],
      as: Bool.self, while: "putting a webhook's secret under another key"
    ).run(on: database)
  }
}

extension Webhook.Owner: Decodable {
  private enum CodingKeys: CodingKey { case clinic, user }

  /// Reads the two columns, of which one has a name.
  init(from decoder: any Decoder) throws {
    let columns = try decoder.container(keyedBy: CodingKeys.self)
    let clinic = try columns.decodeIfPresent(String.self, forKey: .clinic)
    let user = try columns.decodeIfPresent(String.self, forKey: .user)
    self = if let clinic { .clinic(clinic) } else { .user(user ?? "") }
  }
}

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
