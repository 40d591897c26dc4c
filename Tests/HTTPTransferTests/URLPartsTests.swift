import HTTPTransfer
import Testing

@Suite("The parts of an address")
struct URLPartsTests {
  @Test(
    "have the host as it will be used",
    arguments: [
      ("https://Example.ORG/", "example.org"), ("https://example.org./", "example.org"),
      ("https://ex%61mple.org/", "example.org"), ("https://a%2eb.org/", "a.b.org"),
      ("https://b\u{FC}cher.example/", "xn--bcher-kva.example"), ("https://a。b．org/", "a.b.org"),
      ("https://127.1/", "127.0.0.1"), ("https://127.1./", "127.0.0.1"), ("https://0x7f000001/", "127.0.0.1"),
      ("https://2130706433/", "127.0.0.1"), ("https://0177.0.0.1/", "127.0.0.1"),
      ("https://１２７.1/", "127.0.0.1"),
      ("https://[::1]/", "[::1]"), ("https://[0:0:0:0:0:0:0:1]/", "[::1]"),
      ("https://a_b.example.org/", "a_b.example.org"),
    ])
  func host(text: String, host: String) {
    #expect(URLParts(text)?.host == host)
  }

  @Test("have the scheme, the port and the rest")
  func rest() throws {
    let parts = try #require(URLParts("HTTPS://me:secret@Example.org/a/./b/../c?d=e%20f#g"))
    #expect(parts.scheme == "https")
    #expect(parts.port == 443)
    #expect(parts.hasCredentials)
    #expect(parts.url == "https://example.org:443/a/c?d=e%20f")
    #expect(try #require(URLParts("http://example.org")).url == "http://example.org:80/")
    #expect(try #require(URLParts("https://example.org:8443?q")).url == "https://example.org:8443/?q")
    #expect(URLParts(parts.url)?.url == parts.url)
    #expect(URLParts(parts.url)?.hasCredentials == false)
  }

  @Test(
    "are none of what cannot be read in one way",
    arguments: [
      "", "example.org", "https://", "https://a b/", "https://a\tb/", "https://a\u{7F}/", "https://a..b/",
      "https://.a/",
      "https://a%00b/", "https://a%20b/", "https://a%2fb/", "https://a%40b/", "https://[fe80::1%25eth0]/",
      "https://[::g]/",
      "https://a:b/", "https://a:99999/", "https://a!b/", "https://a*b/",
      "https://\(String(repeating: "a", count: 64)).org/",
      "https://a\\b/", "mailto:a@b",
    ])
  func malformed(text: String) {
    #expect(URLParts(text) == nil)
  }
}
