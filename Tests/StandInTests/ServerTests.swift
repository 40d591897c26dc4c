import Foundation
import HTTPTestSupport
import TestSupport
import Testing

@testable import StandIn
@testable import Support

@Suite("Starting and stopping", .onOwnThread)
struct ServerTests {
  @Test("A port of the system's choice is told, and stopping frees it")
  func port() throws {
    let endpoint = try TestEndpoint()
    let port = endpoint.server.port
    #expect(port > 0)
    #expect(endpoint.server.baseURL == "http://127.0.0.1:\(port)")
    endpoint.server.stop()
    endpoint.server.stop()
    #expect(throws: RawClient.Failure.self) { try RawClient(port: port) }
  }

  @Test("A port that is taken, or a host that is a name, is an error that names it")
  func cannotListen() throws {
    let endpoint = try TestEndpoint()
    let error = #expect(throws: EndpointError.self) {
      try TestEndpoint { $0.port = endpoint.server.port }
    }
    #expect(error?.code == .cannotListen)
    #expect(error?.description.contains("127.0.0.1:\(endpoint.server.port)") == true)
    #expect(throws: EndpointError.self) { try TestEndpoint { $0.host = "localhost" } }
  }

  @Test("Settings without sense are refused")
  func configuration() {
    let changes: [(inout EndpointConfiguration) -> Void] = [
      { $0.threads = 0 }, { $0.delay = .seconds(-1) }, { $0.tokenLifetime = .zero }, { $0.cacheCapacity = 0 },
      { $0.limitPerUser = -1 }, { $0.retryAfter = -1 }, { $0.logPath = "/nonexistent/folder/log" },
      { $0.accounts += $0.accounts },
    ]
    for change in changes {
      #expect(throws: EndpointError.self) { try TestEndpoint(change) }
    }
  }

  @Test("Several threads serve at once", arguments: [1, 4])
  func threads(_ count: Int) throws {
    let endpoint = try TestEndpoint { $0.threads = count }
    let clients = try (0..<32).map { _ in try endpoint.client() }
    let form = TestEndpoint.form(try TestPicture.jpeg())
    for client in clients {
      try client.send("POST", "/api/analyze", headers: TestEndpoint.uploadHeaders(), body: form)
    }
    for client in clients { #expect(client.receive().status == 200) }
    #expect(endpoint.server.statistics.outcomes == ["analysis": 32])
  }

  @Test("TLS is served when a certificate is given")
  func tls() async throws {
    let folder = try TemporaryFolder()
    let (certificate, key) = (folder.path("cert.pem"), folder.path("key.pem"))
    _ = try await HelperProgram.output(
      "/usr/bin/env",
      [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-days",
        "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
        certificate,
      ])
    let endpoint = try TestEndpoint {
      $0.transportSecurity = .init(
        certificate: try TextFile.read(certificate), key: try TextFile.read(key))
    }
    #expect(endpoint.server.baseURL.hasPrefix("https://"))
    let answer = try await HelperProgram.output(
      "/usr/bin/env", ["curl", "-sS", "--cacert", certificate, endpoint.server.baseURL + "/api/health"])
    #expect(String(decoding: answer, as: UTF8.self) == #"{"status":"ok"}"#)
  }

  @Test("A certificate that is none is an error")
  func badCertificate() {
    #expect(throws: EndpointError.self) {
      try TestEndpoint { $0.transportSecurity = .init(certificate: "x", key: "y") }
    }
  }

  @Test(
    "Moments are written in both spellings",
    arguments: [
      (0.0, "1970-01-01T00:00:00.000Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
      (1_742_646_896.789, "2025-03-22T12:34:56.789Z", "Sat, 22 Mar 2025 12:34:56 GMT"),
      (1_709_251_199.999, "2024-02-29T23:59:59.999Z", "Thu, 29 Feb 2024 23:59:59 GMT"),
      (1_735_689_600, "2025-01-01T00:00:00.000Z", "Wed, 01 Jan 2025 00:00:00 GMT"),
      (-1, "1969-12-31T23:59:59.000Z", "Wed, 31 Dec 1969 23:59:59 GMT"),
    ])
  func moments(_ time: Double, _ iso: String, _ http: String) {
    #expect(UnixTime(secondsSince1970: time).rfc3339 == iso)
    #expect(UnixTime(secondsSince1970: time).httpDate == http)
  }
}
