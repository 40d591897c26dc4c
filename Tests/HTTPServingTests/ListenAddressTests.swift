import Testing

@testable import HTTPServing

@Suite("Where a server listens")
struct ListenAddressTests {
  @Test(
    "is a numeric address with a port",
    arguments: [
      ("127.0.0.1:9464", "127.0.0.1:9464", true), ("localhost:80", "127.0.0.1:80", true),
      ("[::1]:9464", "[::1]:9464", true), ("127.8.8.8:0", "127.8.8.8:0", true),
      ("0.0.0.0:9464", "0.0.0.0:9464", false), ("[::]:1", "[::]:1", false),
      ("192.0.2.7:65535", "192.0.2.7:65535", false),
    ])
  func read(text: String, written: String, isLoopback: Bool) throws {
    let address = try #require(ListenAddress(text))
    #expect(address.description == written)
    #expect(address.isLoopback == isLoopback)
  }

  @Test(
    "is nothing else",
    arguments: [
      "", ":", "9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+80",
      "127.0.0.1:8 0", "example.org:80", "127.0.0:80", "127.1:80", "::1:80", "[127.0.0.1]:80", "[::1]",
      "[::1:80",
      "127.evil.example:80", "127.0.0.1:٣",
    ])
  func refused(text: String) {
    #expect(ListenAddress(text) == nil)
  }
}
