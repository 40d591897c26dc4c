import Endpoint
import HTTPTransfer
import Support

/// The certificate by which a worker shows itself to the endpoint.
struct ClientCertificateCheck: Sendable {
  let use: SecretUse
  let environment: [String: String]

  private static let check = "endpoint.client_certificate"
  /// One that is not renewed by then is probably renewed by nobody.
  private static let renewal = 14.0 * 86_400

  /// Adds what it finds, and sets the certificate for the calls of the other checks.
  func look(_ findings: inout [Finding], _ transfer: inout HTTPTransfer.Configuration) {
    switch use {
    case .none: break
    case .managed(let name):
      findings.append(
        .skipped(
          Self.check, "the service manager gives the credential \(name) to the worker alone",
          "Name the file behind it with --endpoint-certificate, as a user who may read it."))
    case .file(let path):
      do throws(SystemError) {
        let certificate = try ClientCertificate.read(path, environment: environment)
        transfer.clientIdentity = ClientIdentity(pem: certificate.pem.bytes)
        findings.append(Self.judge(path, certificate.validity.upperBound, now: .now))
      } catch {
        findings.append(
          .wrong(
            Self.check, "\(error)", "Workers do not start with it: put a certificate with its key there."))
      }
    }
  }

  static func judge(_ path: String, _ end: UnixTime, now: UnixTime) -> Finding {
    let left = end.secondsSince1970 - now.secondsSince1970
    let message = "the certificate in \(path) ends in \(Moment.age(left)), on \(end.rfc3339Seconds)"
    return left < renewal
      ? .warning(check, message, "Renew it and restart the workers, which read it when they start.")
      : .ok(check, message)
  }
}
