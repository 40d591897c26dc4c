internal import HTTPTransfer
internal import Images
internal import Queue
internal import Support

/// What is sent to a webhook for one event, as Standard Webhooks has it. Every attempt has the same number and body; the
/// time and with it the signature are those of the attempt.
struct WebhookMessage: Sendable, Equatable {
  /// By what a receiver knows that it has had it: `evt_` with the shard and the number.
  let id: String
  let body: [UInt8]

  init(_ delivery: Delivery, shard: Int16) {
    id = "evt_\(shard)_\(delivery.event)"
    // Written by hand: the findings are JSON already, and keep the server's numbers.
    var text = #"{"event":"\#(delivery.job == nil ? "webhook.test" : "analysis.ended")","id":"\#(id)""#
    if let job = delivery.job { text += #","job":"\#(job)""# }
    text += #","state":"\#(delivery.state)","at":"\#(UnixTime(secondsSince1970: delivery.at).rfc3339)""#
    if let findings = delivery.findings { text += #","findings":\#(findings)"# }
    body = Array((text + "}").utf8)
  }

  /// The headers of an attempt.
  ///
  /// - Parameter now: Seconds since 1970.
  func headers(_ secret: WebhookSecret, now: Int64) -> Headers {
    [
      "webhook-id": id, "webhook-timestamp": "\(now)",
      "webhook-signature": secret.signature(id: id, timestamp: now, body: body),
    ]
  }
}
