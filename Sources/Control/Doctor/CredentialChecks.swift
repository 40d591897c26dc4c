import Endpoint
import Support

/// The service account: its file, and one log-in. No analysis is asked for.
struct CredentialChecks: Sendable {
  let use: SecretUse
  let client: ModelClient
  let environment: [String: String]

  private var name: String { client.endpoint.name }

  func findings() async -> [Finding] {
    switch use {
    case .none:
      return [
        .skipped(
          "credentials", "no credentials are named: \(name) is called without an account",
          "Name their file with --credentials if it wants one.")
      ]
    case .managed(let name):
      return [
        .skipped(
          "credentials.file", "the service manager gives the credential \(name) to the worker alone",
          "Name the file behind it with --credentials, as a user who may read it.")
      ]
    case .file(let path): return await findings(path)
    }
  }

  private func findings(_ path: String) async -> [Finding] {
    let credentials: Credentials
    do throws(SystemError) {
      credentials = try Credentials.read(path, environment: environment)
    } catch {
      return [.wrong("credentials.file", "\(error)", Self.advice(error))]
    }
    let file = Finding.ok("credentials.file", "\(path) can be read by its owner alone")
    do throws(CallFailure) {
      let session = try await client.accounts.login(email: credentials.email, password: credentials.password)
      return [file, Self.judge(session, name)]
    } catch {
      return [file, Self.refused(error, name)]
    }
  }

  private static func advice(_ error: SystemError) -> String {
    switch error.code {
    case .notPrivate: "It must belong to the user who runs the worker, with mode 0600."
    case .unreadable: "See that it is there and belongs to the user who runs this."
    default: "It has two lines: email = … and password = …"
    }
  }

  static func judge(_ session: Session, _ name: String) -> Finding {
    let check = "credentials.login"
    guard let user = session.user else {
      return .ok(check, "the log-in at \(name) works; its answer does not describe the account")
    }
    let count = user.analysisCount.map { ", \($0) analyses counted there" } ?? ""
    let message = "the log-in at \(name) works: \(user)\(count)"
    guard user.subscription == .free else { return .ok(check, message) }
    return .warning(
      check, message,
      "A free account ends after a few analyses a month, and the worker then pauses: use a premium one.")
  }

  static func refused(_ failure: CallFailure, _ name: String) -> Finding {
    let check = "credentials.login"
    let message = "the log-in at \(name) failed: \(failure)"
    switch failure.failureClass {
    case .credentials:
      return .wrong(check, message, "Put the right e-mail address and password into the file.")
    case .permission:
      return .wrong(check, message, "Have the account allowed at the endpoint, or check the address.")
    case .overload: return .warning(check, message, "The endpoint is busy, or logs in too often; try later.")
    case .invalidAnswer:
      return .wrong(
        check, message, "The endpoint speaks another dialect (--dialect), or another version of it.")
    default: return .wrong(check, message, "Check whether the endpoint is well and the address is right.")
    }
  }
}
