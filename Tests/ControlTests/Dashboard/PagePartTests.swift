import Testing

@testable import Control
@testable import Support

@Suite("Parts of pages")
struct PagePartTests {
  @Test("An address escapes its query, and leaves out what has no value")
  func addresses() {
    #expect(
      HTML.address("/audit", [("by", "ä b&c=d"), ("action", nil), ("user", "")])
        == "/audit?by=%C3%A4%20b%26c%3Dd")
    #expect(HTML.address("/audit", []) == "/audit")
  }

  @Test("A disc shows initials, which are never markup")
  func disc() {
    #expect(HTML.disc(of: "<&").markup.contains(">&lt;&amp;</text></svg>"))
    #expect(HTML.disc(of: "AB") == HTML.disc(of: "AB"))
  }

  @Test("The letters on a disc can be read")
  func contrast() throws {
    let white = try #require(Colour("#ffffff"))
    for disc in HTML.discColours {
      #expect(try #require(Colour(disc)).contrast(with: white) >= Colour.leastContrast)
    }
  }
}
