import Testing

@testable import Control

@Suite("A host that is allowed")
struct AllowedHostTests {
  @Test(
    "allows itself, or what is below it",
    arguments: [
      ("img.example.org", "img.example.org", 443, true), ("img.example.org", "a.img.example.org", 443, false),
      ("img.example.org", "example.org", 443, false), ("img.example.org", "img.example.org", 8443, false),
      ("img.example.org:8443", "img.example.org", 8443, true),
      ("img.example.org:8443", "img.example.org", 443, false),
      ("*.example.org", "a.example.org", 443, true), ("*.example.org", "a.b.example.org", 443, true),
      ("*.example.org", "example.org", 443, false), ("*.example.org", "evilexample.org", 443, false),
      ("*.example.org:8443", "a.example.org", 8443, true), ("IMG.Example.org.", "img.example.org", 443, true),
      ("bücher.example", "xn--bcher-kva.example", 443, true),
      ("*.BÜCHER.example", "a.xn--bcher-kva.example", 443, true),
    ])
  func allows(allowed: String, host: String, port: Int, isAllowed: Bool) throws {
    #expect(try AllowedHost(allowed).allows(host, port: port) == isAllowed)
  }

  @Test(
    "is a host and nothing else",
    arguments: [
      "", "*", "*.", "*.org", "*.*.example.org", "a.*.org", "https://img.example.org", "img.example.org/a",
      "a@b.org",
      "img.example.org?", "img.example.org#", "a b.org", "a..b.org", ".org", "img.example.org:x", "*.1.2.3.4",
      "*.[::1]", "%61.example.org", "img.example.org\\",
    ])
  func faults(text: String) {
    #expect(throws: AllowedHost.Fault.self) { try AllowedHost(text) }
  }

  @Test(
    "is written as it will be compared",
    arguments: [
      ("IMG.example.org.", "img.example.org"), ("*.Example.org:443", "*.example.org"),
      ("img.example.org:8443", "img.example.org:8443"), ("127.1", "127.0.0.1"),
    ])
  func written(text: String, form: String) throws {
    #expect(try AllowedHost(text).description == form)
  }
}
