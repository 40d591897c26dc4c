import Testing

@testable import Control

@Suite("The address below which photos are")
struct PhotoBaseTests {
  @Test(
    "makes an address of a name, in which all but plain letters is escaped",
    arguments: [
      ("demoK25_2025-06-24_11:41:27.png", "demoK25_2025-06-24_11%3A41%3A27.png"),
      ("a b/c.png", "a%20b/c.png"),
      ("ä?x=1#y", "%C3%A4%3Fx%3D1%23y"), ("..a/%2e%2e/b", "..a/%252e%252e/b"), ("a\\b@c", "a%5Cb%40c"),
    ])
  func names(name: String, expected: String) throws {
    for base in ["https://img.example.org/photos", "https://img.example.org/photos/"] {
      let address = try PhotoBase(base).address(of: name)
      #expect(address == "https://img.example.org:443/photos/\(expected)")
      #expect(try RemoteAddress(address, among: [AllowedHost("img.example.org")]).url == address)
    }
  }

  @Test(
    "refuses a name that leads elsewhere or cannot be one",
    arguments: [
      "", "..", "../x", "a/../../x", "a//b", "/etc/passwd", "a/", "./a", "a\nb", "a\0b", "a\u{202E}b",
      String(repeating: "a", count: 501),
    ])
  func refused(name: String) throws {
    let base = try PhotoBase("https://img.example.org/")
    #expect(throws: PhotoBase.Fault.self) { try base.address(of: name) }
  }

  @Test(
    "is an https address without more",
    arguments: [
      "img.example.org", "http://img.example.org/", "https://a:b@img.example.org/", "https://x.org/?a=",
      "https://x.org/#a", "file:///etc/", "",
    ])
  func noBase(text: String) {
    #expect(throws: PhotoBase.Fault.self) { try PhotoBase(text) }
  }
}
