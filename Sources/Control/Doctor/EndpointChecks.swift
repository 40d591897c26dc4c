import Endpoint
import HTTPTransfer
import Support

/// One endpoint: whether it answers, whether its certificate lasts, and whether the service account is let in.
struct EndpointChecks: Sendable {
  let endpoint: Endpoint
  let credentials: SecretUse
  let http: HTTPClient
  let environment: [String: String]

  /// A certificate that is not renewed by then is probably renewed by nobody.
  private static let renewal = 14.0 * 86_400
  /// A date has whole seconds, and a request its way.
  private static let clockTolerance = 5.0

  private var name: String { endpoint.name }

  func findings() async -> [Finding] {
    let client = ModelClient(endpoint: endpoint, http: http, credentials: nil)
    var findings: [Finding] = []
    do throws(CallFailure) {
      findings += Self.judge(try await client.health(), name)
    } catch {
      findings.append(Self.unwell(error, name))
      // Without an answer there is nothing to log in to; with a refusal there may be.
      guard error.status != nil else { return findings + [account] }
    }
    return findings
      + (await CredentialChecks(use: credentials, client: client, environment: environment)
        .findings())
  }

  private var account: Finding {
    .skipped("credentials", "the account at \(name) was not tried, since the endpoint does not answer")
  }

  static func judge(_ answer: HealthAnswer, _ name: String) -> [Finding] {
    var findings = [
      Finding.ok("endpoint.health", "\(name) answers in \(milliseconds(answer.timing.total)) ms")
    ]
    if let ahead = answer.clockAhead {
      let message = "this machine's clock and that of \(name) differ by \(Int(abs(ahead).rounded())) s"
      findings.append(
        abs(ahead) <= clockTolerance
          ? .ok("endpoint.clock", "this machine's clock goes with that of \(name)")
          : .warning(
            "endpoint.clock", message,
            "Let both keep time: a token's end and Retry-After are read by this machine's clock."))
    }
    if let ends = answer.certificateEnds {
      let left = ends - Double(UnixTime.now.seconds)
      let message = "the certificate of \(name) ends in \(Moment.age(left)), on \(Moment.short(ends))"
      findings.append(
        left < renewal
          ? .warning("endpoint.certificate", message, "Have it renewed before: after it no job is sent.")
          : .ok("endpoint.certificate", message))
    }
    return findings
  }

  static func unwell(_ failure: CallFailure, _ name: String) -> Finding {
    let advice =
      switch (failure.failureClass, failure.status) {
      case (_, .some(200...299)), (_, .some(404)), (_, .some(405)):
        "The address or --dialect may be wrong: the health call is /api/health below it."
      case (_, .some): "The endpoint answers and is not well: see its own logs."
      case (_, nil) where failure.message.contains("certificate"):
        "See the certificate's names, authority and dates; --ca-file names another authority."
      case (_, nil) where failure.message.contains("protocol"):
        "It may speak HTTP/2 alone: --endpoint-http 2, or endpoint-http = 2 in the worker's file, offers that."
      case (_, nil) where failure.message.contains("name"): "See the address and this machine's name service."
      default:
        "Check the address, firewalls, whether the endpoint runs, and whether it speaks HTTP/2 alone (--endpoint-http 2)."
      }
    return .wrong("endpoint.health", "\(name) is not well: \(failure)", advice)
  }

  private static func milliseconds(_ duration: Duration) -> Int { Int((duration.inSeconds * 1000).rounded()) }
}
