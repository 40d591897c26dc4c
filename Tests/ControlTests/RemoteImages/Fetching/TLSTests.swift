import TestSupport
import Testing

@testable import Control

@Suite(
  "An image is fetched by https", .enabled(if: Authority.isAvailable, "needs openssl and /usr/bin/python3"))
struct TLSTests {
  private func failure(names: String, trusted: Bool = true) async throws -> RemoteImageError? {
    let authority = try await Authority()
    let certificate = try await authority.certificate(names: names)
    let server = try await HelperServer(
      "/usr/bin/python3", [packagePath("scripts/lib/peers/tls-server.py"), certificate, authority.key])
    var setting = Setting()
    setting.authority = trusted ? authority.file : nil
    var network = setting.network
    network.allowsPlainHTTP = false
    return try await setting.with(["img.example.org:\(server.port)"], network) { (cache) async throws in
      await cache.failure("https://img.example.org:\(server.port)/a.jpg?key=SECRET")
    }
  }

  @Test("from the host to which the certificate belongs, whatever its address")
  func own() async throws {
    #expect(try await failure(names: "DNS:img.example.org") == nil)
    #expect(try await failure(names: "DNS:*.example.org") == nil)
  }

  @Test("not with the certificate of another host, or of the address alone")
  func other() async throws {
    for names in ["DNS:evil.org", "IP:127.0.0.1"] {
      let error = try #require(try await failure(names: names))
      #expect(error.code == .unreachable)
      #expect(error.message.hasPrefix("The certificate of img.example.org was refused"))
      #expect(!error.description.contains("SECRET"))
    }
  }

  @Test("not with a certificate that nobody vouches for")
  func unknown() async throws {
    #expect(try await failure(names: "DNS:img.example.org", trusted: false)?.code == .unreachable)
  }

  @Test("and never by http")
  func plain() async throws {
    let server = try ImageHost()
    var network = Setting().network
    network.allowsPlainHTTP = false
    try await Setting().with([server.host], network) { (cache) async throws in
      #expect(await cache.failure(server.url())?.code == .invalid)
    }
    #expect(server.connectionCount == 0)
  }
}
