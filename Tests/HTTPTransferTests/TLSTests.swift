import Foundation
import HTTPTransfer
import TestSupport
import Testing

@Suite("TLS", .enabled(if: Authority.isAvailable, "needs openssl and /usr/bin/python3"))
struct TLSTests {
  private func send(
    to server: HelperServer, host: String = "localhost", authority: String?
  ) async throws -> Result<Response, TransferError> {
    try await withClient {
      $0.certificateAuthorityFile = authority
    } _: { client in
      let request = Request(
        .post, "https://\(host):\(server.port)/", body: .bytes([1, 2, 3], contentType: "a/b"))
      return await client.outcome(request)
    }
  }

  private func serve(
    _ certificate: String, _ authority: Authority, _ options: [String] = []
  ) async throws -> HelperServer {
    try await HelperServer(
      "/usr/bin/python3",
      [packagePath("scripts/lib/peers/tls-server.py"), certificate, authority.key] + options)
  }

  private func expectRefused(_ result: Result<Response, TransferError>, _ code: TransferError.Code) {
    guard case .failure(let error) = result else {
      Issue.record("the server was trusted")
      return
    }
    #expect(error.code == code)
    #expect(error.phase == .connecting)
    #expect(error.certainlyNotSent)
    #expect(error.message.contains("localhost") || error.message.contains("127.0.0.1"))
  }

  @Test("with a certificate of the given authority is agreed, by name and by address")
  func accepted() async throws {
    let authority = try await Authority()
    let server = try await serve(
      try await authority.certificate(names: "DNS:localhost,IP:127.0.0.1"), authority)
    for host in ["localhost", "127.0.0.1"] {
      let response = try await send(to: server, host: host, authority: authority.file).get()
      #expect(response.body == Array("3".utf8))
      #expect(response.timing.secured > .zero)
    }
  }

  @Test("with a certificate of an unknown authority is refused")
  func unknownAuthority() async throws {
    let authority = try await Authority()
    let server = try await serve(try await authority.certificate(names: "DNS:localhost"), authority)
    expectRefused(try await send(to: server, authority: nil), .certificateRefused)
    let other = try await Authority()
    expectRefused(try await send(to: server, authority: other.file), .certificateRefused)
  }

  @Test("with another server's certificate is refused")
  func otherName() async throws {
    let authority = try await Authority()
    let server = try await serve(try await authority.certificate(names: "DNS:other.example"), authority)
    expectRefused(try await send(to: server, authority: authority.file), .certificateRefused)
  }

  @Test("with an expired certificate is refused")
  func expired() async throws {
    let authority = try await Authority()
    let server = try await serve(
      try await authority.certificate(names: "DNS:localhost", days: -1), authority)
    expectRefused(try await send(to: server, authority: authority.file), .certificateRefused)
  }

  @Test("older than 1.2 is not spoken")
  func oldVersion() async throws {
    let authority = try await Authority()
    let server = try await serve(
      try await authority.certificate(names: "DNS:localhost"), authority, ["--greatest", "TLSv1_1"])
    expectRefused(try await send(to: server, authority: authority.file), .tlsFailed)
  }

  @Test(
    "without forward secrecy is not spoken, nor with a cipher that does not authenticate by itself",
    arguments: ["AES128-SHA", "AES256-GCM-SHA384", "DHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA"])
  func noForwardSecrecy(suite: String) async throws {
    let authority = try await Authority(.rsa)
    let server = try await serve(
      try await authority.certificate(names: "DNS:localhost"), authority,
      ["--greatest", "TLSv1_2", "--ciphers", "\(suite):@SECLEVEL=0"])
    expectRefused(try await send(to: server, authority: authority.file), .tlsFailed)
  }

  @Test(
    "with forward secrecy is spoken in version 1.2 too",
    arguments: ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-CHACHA20-POLY1305"])
  func forwardSecrecy(suite: String) async throws {
    let authority = try await Authority(.rsa)
    let server = try await serve(
      try await authority.certificate(names: "DNS:localhost"), authority,
      ["--greatest", "TLSv1_2", "--ciphers", suite])
    #expect(try await send(to: server, authority: authority.file).get().body == Array("3".utf8))
  }

  @Test("shows our certificate to a server that asks for it, which takes no other and not none")
  func clientCertificate() async throws {
    let authority = try await Authority()
    let server = try await serve(
      try await authority.certificate(names: "DNS:localhost"), authority, ["--clients-of", authority.file])
    func send(_ file: String?) async throws -> Result<Response, TransferError> {
      let pem = try file.map { Array(try Data(contentsOf: URL(filePath: $0))) }
      return try await withClient {
        $0.certificateAuthorityFile = authority.file
        $0.clientIdentity = pem.map { ClientIdentity(pem: $0) }
      } _: { client in
        await client.outcome(
          Request(.post, "https://localhost:\(server.port)/", body: .bytes([1, 2], contentType: "a/b")))
      }
    }
    #expect(try await send(try await authority.client()).get().body == Array("2".utf8))
    let stranger = try await Authority()
    for file in [nil, try await stranger.client()] {
      guard case .failure = try await send(file) else {
        Issue.record("the server was content with \(file ?? "no certificate")")
        return
      }
    }
  }

  @Test("keeps the client's key out of every description")
  func identityIsSecret() {
    var configuration = HTTPTransfer.Configuration()
    configuration.clientIdentity = ClientIdentity(pem: Array("hunter2".utf8))
    var shown = ""
    dump(configuration, to: &shown)
    #expect(shown.contains("<redacted>") && !shown.contains("pem"))
  }

  @Test(
    "with another key than the pinned ones is refused before anything is sent, however good the certificate")
  func pinned() async throws {
    let authority = try await Authority()
    let server = try await serve(try await authority.certificate(names: "DNS:localhost"), authority)
    let other = try await Authority().pin()
    let own = try await authority.pin()
    func send(_ pins: [String]) async throws -> Result<Response, TransferError> {
      try await withClient {
        $0.certificateAuthorityFile = authority.file
        $0.pinnedKeys = pins
      } _: { client in
        await client.outcome(
          Request(.post, "https://localhost:\(server.port)/", body: .bytes([1], contentType: "a/b")))
      }
    }
    expectRefused(try await send([other]), .certificateRefused)
    #expect(try await send([own]).get().body == Array("1".utf8))
    #expect(
      try await send([other, own]).get().body == Array("1".utf8), "the next key beside the present one")
  }

  @Test(
    "with a pin that is none is refused where the address is checked",
    arguments: [
      "", "sha256//", "sha256//short", "/etc/key.pem", "sha1//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    ])
  func badPin(pin: String) {
    var configuration = HTTPTransfer.Configuration()
    configuration.pinnedKeys = [pin]
    #expect(throws: TransferError.self) { try configuration.check("https://model.example.org") }
    configuration.pinnedKeys = ["sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="]
    #expect(throws: Never.self) { try configuration.check("https://model.example.org") }
    #expect(throws: TransferError.self) { try configuration.check("http://127.0.0.1:8080") }
  }

  @Test("with a server that speaks plain HTTP fails before anything is sent")
  func plain() async throws {
    try await withServer { connection in
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      connection.waitForClose()
    } _: { client, server in
      let error = try #require(await client.failure(Request(.get, "https://127.0.0.1:\(server.port)/")))
      #expect(error.code == .tlsFailed)
      #expect(error.certainlyNotSent)
    }
  }

  @Test("with a missing file of authorities fails, and does not fall back to the system's")
  func missingFile() async throws {
    try await withClient {
      $0.certificateAuthorityFile = "/nonexistent/authorities.pem"
    } _: { client in
      try await withServer {
        $0.waitForClose()
      } _: { _, server in
        let error = try #require(await client.failure(Request(.get, "https://127.0.0.1:\(server.port)/")))
        #expect(error.code == .tlsFailed)
        #expect(error.certainlyNotSent)
      }
    }
  }

  @Test(
    "offers HTTP/1.1 alone unless more is asked for, also to a server that speaks HTTP/2",
    .enabled(if: Self.hasNode, "needs node, for its HTTP/2 server"))
  func http1() async throws {
    let authority = try await Authority()
    let server = try await Self.serverOfBothVersions(authority)
    try await withClient {
      $0.certificateAuthorityFile = authority.file
    } _: { client in
      let response = try await client.send(
        Request(.get, "https://localhost:\(server.port)/"), deadline: patience)
      #expect(response.head.version == .http1)
      #expect(String(decoding: response.body, as: UTF8.self) == "0 1")
    }
  }

  @Test(
    "brings HTTP/2 where it is offered and the server speaks it, many uploads on one connection",
    .enabled(if: Self.hasNode, "needs node, for its HTTP/2 server"))
  func http2() async throws {
    let authority = try await Authority()
    let server = try await Self.serverOfBothVersions(authority)
    try await withClient {
      $0.certificateAuthorityFile = authority.file
      $0.newestVersion = .http2
    } _: { client in
      let url = "https://localhost:\(server.port)/"
      try await withThrowingTaskGroup(of: (Response, Int).self) { group in
        for number in 0..<50 {
          group.addTask {
            let body = [UInt8](repeating: 1, count: 100_000 + number)
            let response = try await client.send(
              Request(.post, url, body: .bytes(body, contentType: "a/b")), deadline: patience)
            return (response, body.count)
          }
        }
        for try await (response, count) in group {
          #expect(response.head.version == .http2)
          #expect(String(decoding: response.body, as: UTF8.self) == "\(count) 1")
        }
      }
    }
  }

  private static let hasNode = HelperProgram.find("/usr/bin/node", "/usr/local/bin/node") != nil

  private static func serverOfBothVersions(_ authority: Authority) async throws -> HelperServer {
    let node = try #require(HelperProgram.find("/usr/bin/node", "/usr/local/bin/node"))
    let certificate = try await authority.certificate(names: "DNS:localhost")
    return try await HelperServer(
      node, [packagePath("scripts/lib/peers/http2-server.js"), certificate, authority.key])
  }
}
