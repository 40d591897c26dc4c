import Foundation
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import StandIn

@Suite("doctor sees of an endpoint and its account")
struct DoctorEndpointTests {
  private static let password = "correct horse battery"

  /// Runs the doctor without a database: the endpoint is looked at all the same.
  private func diagnose(_ arguments: [String]) async throws -> Diagnosis {
    let ran = await Control(database: "host=/nonexistent").run(["doctor", "--json"] + arguments)
    #expect(ran.code == .unreachable)
    #expect(!ran.output.contains(Self.password) && !ran.output.contains("example.org"))
    let found = try Diagnosis(ran.output)
    #expect(!found.databaseReached && found.state("server.reachable") == "wrong")
    return found
  }

  private func account(_ files: TemporaryFolder, mode: Int = 0o600) throws -> String {
    try files.write("email = service@example.org\npassword = \(Self.password)\n", to: "account")
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: files.path("account"))
    return files.path("account")
  }

  @Test("that it answers and lets the account in, which it describes without its address")
  func well() async throws {
    let files = try TemporaryFolder()
    let backend = try Backend()
    let found = try await diagnose(["--endpoint", backend.url, "--credentials", try account(files)])
    #expect(found.state("endpoint.health") == "ok" && found.state("credentials.file") == "ok")
    #expect(
      found.of("credentials.login").map(\.seen) == [
        "the log-in at \(backend.url) works: account u-7 (premium), 3 analyses counted there"
      ])
    #expect(backend.calls.isEmpty)
    #expect(backend.accountCalls.map(\.target) == ["/api/health", "/api/login"])
  }

  @Test("that the real server is well, whose accounts have no count; below a wrong address it answers a page")
  func realServer() async throws {
    let files = try TemporaryFolder()
    var configuration = EndpointConfiguration()
    configuration.accounts = [
      NewAccount(email: "service@example.org", password: Self.password, subscription: .premium)
    ]
    let server = try EndpointServer(configuration)
    defer { server.stop() }
    let found = try await diagnose(["--endpoint", server.baseURL, "--credentials", try account(files)])
    #expect(found.of("endpoint.health").map(\.state) == ["ok"])
    #expect(
      found.of("credentials.login").map(\.seen) == [
        "the log-in at \(server.baseURL) works: account user-1 (premium)"
      ])
    #expect(found.state("credentials.login") == "ok")
    let wrong = try await diagnose(["--endpoint", server.baseURL + "/wrong"])
    #expect(wrong.state("endpoint.health") == "wrong")
    #expect(wrong.of("endpoint.health")[0].advice?.contains("The address") == true)
  }

  @Test("a wrong password")
  func password() async throws {
    let files = try TemporaryFolder()
    let backend = try Backend(login: { number in
      number == 1 ? .token("well") : .failure(401, "INVALID_CREDENTIALS")
    })
    let found = try await diagnose(["--endpoint", backend.url, "--credentials", try account(files)])
    #expect(found.state("credentials.login") == "wrong")
    #expect(
      found.of("credentials.login")[0].advice == "Put the right e-mail address and password into the file.")
    #expect(backend.logins == 2)
  }

  @Test("a file that others can read, and one that is not there: no log-in is tried")
  func file() async throws {
    let files = try TemporaryFolder()
    let backend = try Backend()
    let open = try await diagnose([
      "--endpoint", backend.url, "--credentials", try account(files, mode: 0o644),
    ])
    #expect(
      open.state("credentials.file") == "wrong" && open.of("credentials.file")[0].seen.contains("mode 0644"))
    let missing = try await diagnose(["--endpoint", backend.url, "--credentials", files.path("missing")])
    #expect(missing.state("credentials.file") == "wrong")
    #expect(backend.logins == 2)  // one health call each
  }

  @Test("that nobody listens, or that it is not well; the account is not tried where nobody answers")
  func unwell() async throws {
    let files = try TemporaryFolder()
    let nobody = try await diagnose(["--endpoint", "http://127.0.0.1:9", "--credentials", try account(files)])
    #expect(nobody.state("endpoint.health") == "wrong" && nobody.state("credentials") == "skipped")
    let sick = try Backend(login: { _ in .failure(503, "SERVER_ERROR") })
    let found = try await diagnose(["--endpoint", sick.url])
    #expect(found.of("endpoint.health").map(\.state) == ["wrong"])
    #expect(found.of("endpoint.health")[0].seen.contains("503"))
  }

  @Test("a clock that goes wrong, by the date of its answer")
  func clock() async throws {
    let backend = try Backend(login: { _ in
      Backend.Reply(body: "{}", headers: ["Date: Sun, 06 Nov 1994 08:49:37 GMT"])
    })
    let found = try await diagnose(["--endpoint", backend.url])
    #expect(found.state("endpoint.clock") == "warning")
  }

  @Test("a free account, whose few analyses end soon")
  func free() async throws {
    let files = try TemporaryFolder()
    let backend = try Backend(login: { _ in
      Backend.Reply(
        body: """
          {"token":"t","user":{"id":"u-7","email":"service@example.org","name":"Service","subscription":"free",
           "analysisCount":1}}
          """)
    })
    let found = try await diagnose(["--endpoint", backend.url, "--credentials", try account(files)])
    #expect(found.state("credentials.login") == "warning")
  }

  @Test(
    "a certificate that ends soon, lasts, has ended, or is another's",
    .enabled(if: Authority.isAvailable, "needs openssl and /usr/bin/python3"),
    arguments: [
      (2, "localhost", "warning"), (90, "localhost", "ok"), (-1, "localhost", nil),
      (90, "other.example", nil),
    ])
  func certificate(days: Int, name: String, state: String?) async throws {
    let authority = try await Authority()
    let certificate = try await authority.certificate(names: "DNS:\(name)", days: days)
    let server = try await HelperServer(
      "/usr/bin/python3", [packagePath("scripts/lib/peers/tls-server.py"), certificate, authority.key])
    let found = try await diagnose([
      "--endpoint", "https://localhost:\(server.port)", "--ca-file", authority.file,
    ])
    #expect(found.state("endpoint.certificate") == state)
    #expect(found.state("endpoint.health") == (state == nil ? "wrong" : "ok"))
    if state == nil {
      let advice = found.of("endpoint.health")[0].advice
      #expect(
        advice == "See the certificate's names, authority and dates; --ca-file names another authority.")
    }
  }

  @Test(
    "the certificate by which a worker shows itself, and an endpoint that asks for it",
    .enabled(if: Authority.isAvailable, "needs openssl and /usr/bin/python3"))
  func clientCertificate() async throws {
    let authority = try await Authority()
    let certificate = try await authority.certificate(names: "DNS:localhost", days: 90)
    let server = try await HelperServer(
      "/usr/bin/python3",
      [
        packagePath("scripts/lib/peers/tls-server.py"), certificate, authority.key, "--clients-of",
        authority.file,
      ])
    let options = ["--endpoint", "https://localhost:\(server.port)", "--ca-file", authority.file]
    let client = try await authority.client()
    let found = try await diagnose(options + ["--endpoint-certificate", client])
    #expect(found.state("endpoint.health") == "ok")
    #expect(found.state("endpoint.client_certificate") == "warning", "it ends in two days")
    #expect(try await diagnose(options).state("endpoint.health") == "wrong")
    let expired = try await diagnose(
      options + ["--endpoint-certificate", try await authority.client(days: -1)])
    #expect(expired.state("endpoint.client_certificate") == "wrong")
    let files = try TemporaryFolder()
    try files.write(
      "endpoint = https://localhost:\(server.port)\nendpoint-certificate = endpoint-tls\n", to: "managed.conf"
    )
    let managed = try await diagnose(["--worker-config", files.path("managed.conf")])
    #expect(managed.state("endpoint.client_certificate") == "skipped")
  }

  @Test("what a worker's file names: its endpoints, its account, its database")
  func workerFile() async throws {
    let files = try TemporaryFolder()
    let (throats, ears) = (try Backend(), try Backend())
    try files.write(
      """
      database = "host=/nonexistent-too"
      endpoint = \(throats.url)
      endpoint-for = ear=\(ears.url)
      credentials = \(try account(files))
      concurrency = 8

      """, to: "worker.conf")
    let found = try await diagnose(["--worker-config", files.path("worker.conf")])
    #expect(found.of("endpoint.health").map(\.state) == ["ok", "ok"])
    #expect(found.of("credentials.login").map(\.state) == ["ok", "ok"])
    #expect(found.of("server.reachable")[0].seen.contains("/nonexistent-too"))

    try files.write("endpoint = \(throats.url)\ncredentials = account\n", to: "managed.conf")
    let managed = try await diagnose(["--worker-config", files.path("managed.conf")])
    #expect(managed.state("credentials.file") == "skipped")
  }

  @Test("a worker's file that a worker would refuse is refused here: exit 64, or 66 when it cannot be read")
  func badFile() async throws {
    let files = try TemporaryFolder()
    for (text, words) in [
      ("endpiont = x", "endpiont"), ("concurrency = many", "concurrency"), ("", "No endpoint"),
    ] {
      try files.write(text, to: "worker.conf")
      let ran = await Control(database: "host=/nonexistent")(
        "doctor", "--worker-config", files.path("worker.conf"))
      #expect(ran.code == .usage && ran.messages.contains(words), "\(ran.messages)")
    }
    let missing = await Control(database: "host=/nonexistent")(
      "doctor", "--worker-config", files.path("missing.conf"))
    #expect(missing.code == .unreadableInput)
    let plain = await Control(database: "host=/nonexistent")(
      "doctor", "--endpoint", "http://model.example.org")
    #expect(plain.code == .usage && plain.messages.contains("the endpoint cannot be used"))
  }
}
