import PostgreSQL
public import Support

/// An event that is to be sent to a webhook, taken by a worker for two minutes.
public struct Delivery: Sendable, Equatable, Decodable {
  /// The webhook's number.
  public let webhook: Int32
  /// The event's number in its shard.
  public let event: Int64
  /// Where it is sent; all of it but the host may be a secret.
  public let url: String
  /// The signing secret as it is encrypted.
  public let secret: [UInt8]
  /// The job that has ended; nil for a test and a limit.
  public let job: JobID?
  /// `test`, `succeeded`, `cancelled` or `dead`; `limit` where a user has reached one.
  public let state: String
  /// When the job ended or the limit was reached, in seconds since 1970.
  public let at: Double
  /// How often it has been tried, this time included.
  let attempts: Int
  /// A JSON object: what was found, nil where the webhook does not receive it; or which limit was reached.
  public let detail: String?
}

/// What came of an event that was sent, or was to be sent.
public struct DeliveryOutcome: Sendable, Equatable {
  /// The kinds of outcome, by the names that the database has for them.
  public enum Kind: String, Sendable {
    case delivered, failed, gone, released
  }

  let event: Int64
  /// What came of it.
  public let kind: Kind
  /// Why it failed; no part of the address but the host is in it.
  public let failure: String?
  /// How long the receiver wants to be left alone.
  let delay: Duration?

  /// What came of an event.
  public init(_ event: Int64, _ kind: Kind, failure: String? = nil, delay: Duration? = nil) {
    self.event = event
    self.kind = kind
    self.failure = failure
    self.delay = delay
  }
}

extension WorkerStatements {
  /// Answers which of the shards have events to send.
  public static func dueDeliveries(in shards: [Int16]) -> Statement<[Int16]> {
    Statement(
      SQLFunction("due_deliveries", 1), [.array(shards)], as: [Int16].self,
      while: "looking for events to send to webhooks")
  }

  /// Takes events that are due, webhook by webhook: of at most so many webhooks that are not in `busy`, at most `each`
  /// of one.
  public func claimDeliveries(busy: [Int32], webhooks: Int, each: Int) -> Statement<[Delivery]> {
    Statement(
      SQLFunction("claim_deliveries", 5),
      [
        .int16(shard), worker.parameter, .array(busy), .int32(Int32(clamping: webhooks)),
        .int32(Int32(clamping: each)),
      ], as: [Delivery].self, while: "taking events to send to webhooks")
  }

  /// Stores what came of events; answers the webhooks that were switched off by it.
  public func finishDeliveries(_ outcomes: [DeliveryOutcome]) -> Statement<[Int32]> {
    Statement(
      SQLFunction("finish_deliveries", 6),
      [
        .int16(shard), worker.parameter, .array(outcomes.map(\.event)),
        .array(outcomes.map(\.kind.rawValue)), .array(outcomes.map { $0.failure.map(storable) }),
        .array(outcomes.map { $0.delay.map(milliseconds) }),
      ], as: [Int32].self, while: "recording what was sent to webhooks")
  }

  /// Removes events of long ago, at most so many; answers how many.
  public func purgeDeliveries(limit: Int) -> Statement<Int> {
    Statement(
      SQLFunction("purge_deliveries", 2), [.int16(shard), .int32(Int32(clamping: limit))],
      as: Int.self, while: "removing events that were sent long ago")
  }
}
