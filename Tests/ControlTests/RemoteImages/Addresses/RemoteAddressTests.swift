import Testing

@testable import Control

@Suite("The address of an image")
struct RemoteAddressTests {
  private func address(_ text: String, _ hosts: String...) throws -> RemoteAddress {
    try RemoteAddress(text, among: hosts.map { try AllowedHost($0) })
  }

  private func failure(_ text: String, _ hosts: String...) throws -> RemoteImageError? {
    let allowed = try hosts.map { try AllowedHost($0) }
    do throws(RemoteImageError) {
      _ = try RemoteAddress(text, among: allowed)
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "is allowed by its host, however that is written",
    arguments: [
      "https://img.example.org/a.jpg", "https://IMG.Example.ORG/a.jpg", "https://img.example.org./a.jpg",
      "https://img.example.org:443/a.jpg", "https://img%2eexample.org/a.jpg", "https://img。example。org/a.jpg",
      "https://img．example．org/a.jpg", "https://img.example.org?x=@evil.org",
      "https://img.example.org#@evil.org",
      "https://img.example.org/\\@evil.org", "https://img.example.org/a/../b", "https://img.example.org",
      "HTTPS://img.example.org/", "https:/img.example.org/", "https:///img.example.org/",
    ])
  func allowed(text: String) throws {
    let address = try address(text, "img.example.org")
    #expect(address.host == "img.example.org")
    #expect(address.url.hasPrefix("https://img.example.org:443/"))
  }

  @Test("keeps path and query as they are, and loses the fragment")
  func whole() throws {
    let address = try address("https://img.example.org/a%2Fb/c.jpg?X-Sig=a%2Bb&e=1#part", "img.example.org")
    #expect(address.url == "https://img.example.org:443/a%2Fb/c.jpg?X-Sig=a%2Bb&e=1")
  }

  @Test(
    "that shows one host to people and another to programs reaches none",
    arguments: [
      "https://img.example.org@evil.org/", "https://img.example.org:443@evil.org/",
      "https://img.example.org%40evil.org/", "https://img.example.org\\@evil.org/",
      "https://img.example.org\\.evil.org/", "https://evil.org\\img.example.org/",
      "https://evil.org#img.example.org/", "https://evil.org#@img.example.org/",
      "https://evil.org?@img.example.org/", "https://evil.org/img.example.org",
      "https://evil.org%2fimg.example.org/", "https://evil.org%23.img.example.org/",
      "https://evil.org%00.img.example.org/", "https://evil.org%0d%0aHost:img.example.org/",
      "https://img.example.org.evil.org/", "https://img.example.orgevil.org/", "https://evilimg.example.org/",
      "https://img.example.org%2eevil.org/", "https://img.example.org。evil.org/",
      "https://img。example。org。evil。org/", "https://img.example.org:80/", "https://img.example.org:8443/",
      "https://img.example.org:443:80/", "https://img.example.org:0443a/", "https://img.example.org:99999/",
      "https://img.example.org:-443/", "https://img.example.org: 443/", "https:// img.example.org/",
      "https://img.example.org /", " https://img.example.org/", "https://img.example.org\t/",
      "https://img.example.org/a b", "https://img.example.org/a\u{7F}",
      "https://img\u{AD}.example\u{200B}.org.evil/",
      "https://img.example.org\u{0}.evil.org/", "https://img.example.org\n.evil.org/",
      "https://[img.example.org]/",
      "https://[::1]img.example.org/", "https://img.example.org../", "https://.img.example.org/",
      "https://img..example.org/", "https://*.example.org/", "https://", "https:///", "https:", "https:?", "",
      "//img.example.org/", "img.example.org/a.jpg", "/a.jpg", "http://img.example.org/",
      "ftp://img.example.org/", "file:///etc/passwd", "file://img.example.org/etc/passwd",
      "data:image/png;base64,",
      "javascript:alert(1)", "gopher://img.example.org/", "https+http://img.example.org/",
      "https://user@img.example.org/", "https://user:password@img.example.org/", "https://:@img.example.org/",
      "https://@img.example.org/", "https://img.example.org;evil.org/", "https://img.example.org,evil.org/",
      "https://img.example.org|evil.org/", "https://img.example.org^evil.org/", "https://іmg.example.org/",
      "https://img.exаmple.org/",
    ])
  func confused(text: String) throws {
    guard let error = try failure(text, "img.example.org") else {
      // An empty user is none; all that counts is the host that is reached.
      #expect(try address(text, "img.example.org").url.hasPrefix("https://img.example.org:443/"))
      #expect(text.contains("@img.example.org") && !text.contains("evil"))
      return
    }
    #expect([.invalid, .notAllowed].contains(error.code))
  }

  @Test("names its host in an error, and nothing behind it")
  func words() throws {
    let error = try #require(try failure("https://evil.org/private/7?key=SECRET", "img.example.org"))
    #expect(error.code == .notAllowed)
    #expect(
      error.message == "The host evil.org at port 443 is not among those that images may be fetched from.")
    let password = try #require(try failure("https://me:SECRET@img.example.org/", "img.example.org"))
    #expect(!password.description.contains("SECRET") && !password.description.contains("me:"))
  }

  @Test("shows its host alone, also to a debugger")
  func shown() throws {
    let address = try address("https://img.example.org/private/7?key=SECRET", "img.example.org")
    var dumped = ""
    dump(address, to: &dumped)
    for text in ["\(address)", String(reflecting: address), dumped, "\([address])"] {
      #expect(text.contains("img.example.org"))
      #expect(!text.contains("private") && !text.contains("SECRET"))
    }
  }
}
