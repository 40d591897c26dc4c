import BenchmarkKit
import TestSupport
import Testing

@Suite("The endpoint of the benchmarks")
struct EndpointProcessTests {
  private static let canEncrypt = Authority.isAvailable && HelperProgram.find("/usr/bin/curl") != nil
  private static let hasProxy = HelperProgram.find("/usr/sbin/nghttpx") != nil

  @Test("speaks plain HTTP, and needs no authority")
  func plain() async throws {
    let endpoint = try await EndpointProcess(BenchmarkSettings())
    #expect(endpoint.url.hasPrefix("http://127.0.0.1:"))
    #expect(endpoint.authority == nil)
    #expect(try await versions(endpoint, []) == "1.1 1.1 ")
    await endpoint.stop()
  }

  @Test(
    "speaks TLS with a certificate of its authority, which others do not know",
    .enabled(if: canEncrypt, "openssl or curl is missing"))
  func secured() async throws {
    let endpoint = try await EndpointProcess(BenchmarkSettings(), speech: .secured(Authority()))
    #expect(endpoint.url.hasPrefix("https://127.0.0.1:"))
    let authority = try #require(endpoint.authority)
    #expect(try await versions(endpoint, ["--cacert", authority]) == "1.1 1.1 ")
    #expect(try await versions(endpoint, []) == "0 0 ")
    await endpoint.stop()
  }

  @Test(
    "speaks one version of HTTP alone by a proxy in front of it",
    .enabled(if: canEncrypt && hasProxy, "openssl, curl or nghttp2-proxy is missing"),
    arguments: [(EndpointProcess.HTTPVersion.http1, "1.1 1.1 "), (.http2, "2 0 ")])
  func proxied(version: EndpointProcess.HTTPVersion, expected: String) async throws {
    let endpoint = try await EndpointProcess(BenchmarkSettings(), speech: .proxied(Authority(), version))
    let authority = try #require(endpoint.authority)
    #expect(try await versions(endpoint, ["--cacert", authority]) == expected)
    await endpoint.stop()
  }

  /// The versions of HTTP that a client gets who would take HTTP/2, and who would not; 0 for no answer.
  private func versions(_ endpoint: EndpointProcess, _ trust: [String]) async throws -> String {
    var text = ""
    for offer in ["--http2", "--http1.1"] {
      let arguments = ["--silent", "--output", "/dev/null", "--write-out", "%{http_version} ", offer]
      let ended = try await HelperProgram.run("/usr/bin/curl", arguments + trust + [endpoint.url])
      text += String(decoding: ended.output, as: UTF8.self)
    }
    return text
  }
}
