internal import Endpoint
internal import EventLoop
internal import HTTPTransfer
internal import Images
internal import Queue
internal import Support

/// Sends messages to webhooks: to public addresses unless others are allowed, which are looked up and judged for each
/// message and looked at once more when the connection stands. No redirect is followed; what is answered is read up to
/// a bound and dropped.
struct WebhookSender: Sendable {
  private let settings: WebhookSettings
  private let loop: EventLoop
  private let client: HTTPClient

  init(_ settings: WebhookSettings, loop: EventLoop) {
    self.settings = settings
    self.loop = loop
    var configuration = HTTPTransfer.Configuration()
    configuration.maximumConnections = settings.connections
    configuration.connectTimeout = Self.connectTime
    configuration.answerLimit = 64 << 10
    configuration.certificateAuthorityFile = settings.certificateAuthorityFile
    // Whether an address may be http was decided when the webhook was added.
    configuration.plainHTTP = .anywhere
    client = HTTPClient(loop: loop, configuration: configuration)
  }

  private static let connectTime: Duration = .seconds(5)

  func close() async { await client.close() }

  /// Sends an event, and says what came of it; naming the host at most.
  func send(_ delivery: Delivery, shard: Int16, secret: WebhookSecret) async -> DeliveryOutcome {
    guard let parts = URLParts(delivery.url), !parts.hasCredentials else {
      return DeliveryOutcome(delivery.event, .failed, failure: "the address cannot be read")
    }
    let addresses: [IPAddress]
    do throws(HostLookup.Failure) {
      addresses = try await settings.lookup.addresses(of: parts.host, within: Self.connectTime, on: loop)
    } catch {
      return DeliveryOutcome(
        delivery.event, error == .cancelled ? .released : .failed, failure: Self.text(error, parts.host))
    }
    let message = WebhookMessage(delivery, shard: shard)
    let lookup = settings.lookup
    let request = Request(
      .post, parts.url, headers: message.headers(secret, now: UnixTime.now.seconds),
      body: .bytes(message.body, contentType: "application/json"), mayBeRepeated: true,
      pin: AddressPin(addresses.map(\.description)) { lookup.permits($0) })
    do throws(TransferError) {
      return Self.outcome(of: delivery, try await client.send(request, deadline: settings.deadline).head)
    } catch {
      // An answer that is too long, say, has said what counts.
      if let head = error.answer, error.code != .timedOut { return Self.outcome(of: delivery, head) }
      if error.code == .cancelled || error.code == .closed {
        return DeliveryOutcome(delivery.event, .released)
      }
      return DeliveryOutcome(delivery.event, .failed, failure: error.message)
    }
  }

  /// What an answer means: 2xx, it was taken; 410, nothing is wanted any more; else it is tried again, not before the
  /// time that a receiver names which is busy.
  static func outcome(of delivery: Delivery, _ head: ResponseHead) -> DeliveryOutcome {
    switch head.status {
    case 200..<300: return DeliveryOutcome(delivery.event, .delivered)
    case 410: return DeliveryOutcome(delivery.event, .gone, failure: "it answered 410, it wants no more")
    case 300..<400:
      return DeliveryOutcome(
        delivery.event, .failed, failure: "it answered \(head.status), and no redirect is followed")
    default:
      let wait =
        head.status == 429 || head.status == 503
        ? head.headers["Retry-After"].flatMap {
          RetryAfter.seconds($0, now: UnixTime.now.secondsSince1970)
        } : nil
      return DeliveryOutcome(
        delivery.event, .failed, failure: "it answered \(head.status)",
        delay: wait.map { .seconds(min($0, 86_400)) })
    }
  }

  private static func text(_ failure: HostLookup.Failure, _ host: String) -> String? {
    switch failure {
    case .cancelled: nil
    case .notResolved(let reason): "the name \(host) cannot be looked up: \(reason)"
    case .tooSlow: "the look-up of \(host) took too long"
    case .nowhere: "the name \(host) leads to no address"
    case .refused(let reason): "the host \(host) leads to an address that is \(reason)"
    }
  }
}

/// What is sent to a webhook for one event, as Standard Webhooks has it. Every attempt has the same number and body; the
/// time and with it the signature are those of the attempt.
struct WebhookMessage: Sendable, Equatable {
  /// By what a receiver knows that it has had it: `evt_` with the shard and the number.
  let id: String
  let body: [UInt8]

  init(_ delivery: Delivery, shard: Int16) {
    id = "evt_\(shard)_\(delivery.event)"
    // Written by hand: the detail is JSON already, and keeps the server's numbers.
    let isLimit = delivery.state == "limit"
    let event = isLimit ? "limit.reached" : delivery.job == nil ? "webhook.test" : "analysis.ended"
    var text = #"{"event":"\#(event)","id":"\#(id)""#
    if let job = delivery.job { text += #","job":"\#(job)""# }
    if !isLimit { text += #","state":"\#(delivery.state)""# }
    text += #","at":"\#(UnixTime(secondsSince1970: delivery.at).rfc3339)""#
    if let detail = delivery.detail { text += #","\#(isLimit ? "limit" : "findings")":\#(detail)"# }
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

/// How a worker notifies webhooks of ended jobs.
public struct WebhookSettings: Sendable {
  /// How often what is due is looked for.
  var every: Duration = .seconds(1)
  /// How long a receiver has for its whole answer.
  var deadline: Duration = .seconds(15)
  /// How many receivers are sent something at the same time.
  var receivers = 8
  /// How many events one receiver is sent at the same time.
  var atOnce = 4
  /// Whether receivers may be at addresses that are not public.
  public var allowsPrivateAddresses = false
  /// A file of certificate authorities (PEM) in place of the system's.
  var certificateAuthorityFile: String?
  /// Looks the receivers' names up.
  var resolver = NameResolver.system

  /// Every default.
  public init() {}

  /// How many connections to receivers there may be, those to slow ones among them.
  public var connections: Int { (receivers + max(receivers / 2, 1)) * atOnce }

  /// Finds out where a receiver is.
  var lookup: HostLookup {
    allowsPrivateAddresses ? HostLookup(resolver) { _ in nil } : HostLookup(resolver)
  }
}
