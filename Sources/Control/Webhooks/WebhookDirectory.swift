import PostgreSQL
import Queue

/// By what a webhook is known: `W3`.
struct WebhookID: Hashable, Sendable, CustomStringConvertible {
  /// The number.
  let value: Int32

  /// The id with a number.
  init(_ value: Int32) {
    self.value = value
  }

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
struct WebhookEventID: Hashable, Sendable, CustomStringConvertible {
  /// The shard of the job that it is about.
  let shard: Int16
  /// Its number there.
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
struct Webhook: Sendable, Equatable {
  /// Whose jobs it receives.
  enum Owner: Sendable, Equatable {
    /// Those of all users of a clinic, by its name.
    case clinic(String)
    /// Those of a user.
    case user(String)
  }

  /// Its number.
  let id: WebhookID
  /// Whose jobs it receives.
  let owner: Owner
  /// Where it is.
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
struct WebhookEventState: Sendable, Equatable {
  /// Whether it was delivered or given up.
  let isOver: Bool
  /// How often it has been tried.
  let attempts: Int
  /// Whether it was delivered.
  let isDelivered: Bool
  /// Why it was not.
  let failure: String?
}

/// The webhooks of a database.
struct WebhookDirectory: Sendable {
  private let database: ConnectionPool

  /// Which events are sent again.
  enum Replay: Sendable {
    /// Those since a moment, in seconds since 1970.
    case since(Double)
    /// One.
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
      SQLFunction(
        "list_webhooks", 0, "o_webhook", "o_clinic", "o_user", "o_host", "o_has_findings", "o_created_at",
        "o_last_success_at", "o_last_failure_at", "o_last_failure", "o_failures", "o_off_at", "o_off_reason",
        "o_waiting", "o_due_since"), [], while: "listing the webhooks"
    ) { rows in
      try rows.map { try Webhook($0) }
    }.run(on: database)
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
      while: "adding a webhook"
    ) { rows in
      try rows.single().int32IfPresent("add_webhook")
    }.run(on: database, as: actor)
    guard let id else {
      switch owner {
      case .clinic(let name):
        throw JobQueueError(
          .notFound, "There is no clinic \(name).", advice: "Add it with analysisctl clinics add.")
      case .user(let name): throw UserDirectory.unknown(name)
      }
    }
    return WebhookID(id)
  }

  /// Removes one, with the events that were not sent yet.
  func remove(_ id: WebhookID, by actor: AuditActor?) async throws(JobQueueError) {
    try await Statement(
      SQLFunction("remove_webhook", 1), [.int32(id.value)], while: "removing webhook \(id)"
    ) { _ in
    }.run(on: database, as: actor)
  }

  /// Has a worker send one an event that is about no job.
  func test(_ id: WebhookID, by actor: AuditActor?) async throws(JobQueueError) -> WebhookEventID {
    try await Statement(
      SQLFunction("test_webhook", 1, "o_shard", "o_event"), [.int32(id.value)], while: "testing webhook \(id)"
    ) { rows in
      let row = try rows.single()
      return WebhookEventID(shard: try row.int16("o_shard"), number: try row.int64("o_event"))
    }.run(on: database, as: actor)
  }

  /// What came of an event; nil where there is none of that number any more.
  func state(of event: WebhookEventID) async throws(JobQueueError) -> WebhookEventState? {
    try await Statement(
      SQLFunction(
        "webhook_event_state", 2, "o_is_over", "o_attempts", "o_delivered_at", "o_failure"),
      [.int16(event.shard), .int64(event.number)], while: "looking at an event of a webhook"
    ) { rows in
      try rows.first.map { row in
        WebhookEventState(
          isOver: try row.bool("o_is_over"), attempts: try row.int("o_attempts"),
          isDelivered: try row.secondsIfPresent("o_delivered_at") != nil,
          failure: try row.stringIfPresent("o_failure"))
      }
    }.run(on: database)
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
      SQLFunction("replay_webhook", 5), [.int32(id.value)] + parameters,
      while: "sending events of webhook \(id) again"
    ) { rows in
      try rows.single().int("replay_webhook")
    }.run(on: database, as: actor)
  }

  // MARK: Keys

  /// How many secrets are under each key of the key file, by the key's number.
  func keys() async throws(JobQueueError) -> [Int64: Int] {
    try await Statement(
      SQLFunction("webhook_keys", 0, "o_key", "o_webhooks"), [], while: "counting the webhooks' keys"
    ) { rows in
      Dictionary(
        uniqueKeysWithValues: try rows.map { (try $0.int64("o_key"), try $0.int("o_webhooks")) })
    }.run(on: database)
  }

  /// A webhook's secret as it is encrypted, and the address for which it is.
  struct StoredSecret: Sendable {
    /// The webhook.
    let id: WebhookID
    /// Its address; all of it but the host may be a secret.
    let url: String
    /// The secret as it is encrypted.
    let bytes: [UInt8]
  }

  /// The secrets of all webhooks, which the schema's owner may read.
  func secrets() async throws(JobQueueError) -> [StoredSecret] {
    try await Statement(
      SQLFunction("webhook_secrets", 0, "o_webhook", "o_url", "o_secret"), [],
      while: "reading the webhooks' secrets"
    ) { rows in
      try rows.map {
        StoredSecret(
          id: WebhookID(try $0.int32("o_webhook")), url: try $0.string("o_url"),
          bytes: try $0.bytes("o_secret"))
      }
    }.run(on: database)
  }

  /// Stores a secret as it is under another key; false where it was changed or removed meanwhile.
  func rewrap(_ secret: StoredSecret, to bytes: [UInt8]) async throws(JobQueueError) -> Bool {
    try await Statement(
      SQLFunction("rewrap_webhook", 3), [.int32(secret.id.value), .bytes(secret.bytes), .bytes(bytes)],
      while: "putting a webhook's secret under another key"
    ) { rows in
      try rows.single().bool("rewrap_webhook")
    }.run(on: database)
  }
}

extension Webhook {
  /// One of the list.
  fileprivate init(_ row: Row) throws(PostgreSQLError) {
    id = WebhookID(try row.int32("o_webhook"))
    let clinic = try row.stringIfPresent("o_clinic")
    owner = if let clinic { .clinic(clinic) } else { .user(try row.stringIfPresent("o_user") ?? "") }
    host = try row.string("o_host")
    hasFindings = try row.bool("o_has_findings")
    createdAt = try row.seconds("o_created_at")
    lastSuccessAt = try row.secondsIfPresent("o_last_success_at")
    lastFailureAt = try row.secondsIfPresent("o_last_failure_at")
    lastFailure = try row.stringIfPresent("o_last_failure")
    failures = try row.int("o_failures")
    offAt = try row.secondsIfPresent("o_off_at")
    offReason = try row.stringIfPresent("o_off_reason")
    waiting = try row.int("o_waiting")
    dueSince = try row.secondsIfPresent("o_due_since")
  }
}
