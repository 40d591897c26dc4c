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

  @Test(
    "A word that is too long for a narrow column may be broken behind what separates its parts, and nowhere else",
    arguments: [
      ("worker-1.hospital.example.org", "worker-<wbr>1.hospital.<wbr>example.org"),
      ("throat-89.jpg", "throat-<wbr>89.jpg"),
      ("IMG_20261128_114127.jpeg", "IMG_<wbr>20261128_<wbr>114127.jpeg"),
      ("https://model.example.org/v2", "https://<wbr>model.<wbr>example.<wbr>org/<wbr>v2"),
      (
        "tonsillitis or pharyngitis, 2026-11-27",
        "tonsillitis or pharyngitis, <span class=\"word\">2026-11-27</span>"
      ),
      ("aaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaa<wbr>aaaa"),
      ("<ä&>ää&ää&ää&ää&ää", "&lt;ä&amp;&gt;<wbr>ää&amp;<wbr>ää&amp;<wbr>ää&amp;<wbr>ää&amp;<wbr>ää"),
    ])
  func words(text: String, shown: String) {
    let page: HTML = "<td title=\"\(text)\">\(text)</td>"
    let finished = String(decoding: PageMarkup().finished(page.markup), as: UTF8.self)
    #expect(finished.hasSuffix(">\(shown)</td>") && finished.hasPrefix(page.markup.prefix { $0 != ">" }))
  }

  @Test("A column in which no row has anything is left out")
  func emptyColumns() {
    var table = DataTable("Attempts", [.init("Attempt"), .init("Cause"), .init("Error id")], empty: "None.")
    table.add(["1", "server", ""])
    table.add(["2", "", ""], id: "second")
    let html = table.html.markup
    #expect(html.contains("<th scope=\"col\">Cause</th></tr>") && !html.contains("Error id"))
    #expect(html.contains("<tr id=\"second\">") && html.contains("<td data-column=\"Cause\"></td></tr>"))
  }

  @Test("What is drawn, and what stands in a field, has no place to be broken")
  func whole() {
    let page: HTML = """
      <svg><title>worker-1.hospital.example.org</title></svg><textarea>worker-1.hospital.example.org</textarea>
      """
    #expect(String(decoding: PageMarkup().finished(page.markup), as: UTF8.self) == page.markup)
  }

  @Test("Links lead below the path of the proxy, and no text does")
  func links() {
    let text = "href=\"/jobs\""
    let page: HTML = """
      <a href="/jobs?a=b">\(text)</a><form action="/x"><button formaction="/y" title=" \(text)"></button></form><img src="/z">
      """
    let finished = String(decoding: PageMarkup(basePath: "/a/queue").finished(page.markup), as: UTF8.self)
    #expect(
      finished == """
        <a href="/a/queue/jobs?a=b">href=&quot;/jobs&quot;</a><form action="/a/queue/x"><button formaction="/a/queue/y" \
        title=" href=&quot;/jobs&quot;"></button></form><img src="/a/queue/z">
        """)
  }

  @Test("A confidence is a bar as long as its percentage, in the colour of its band, with both in words")
  func confidence() {
    let bar = HTML.confidence(0.7999, .orange).markup
    #expect(bar.contains("class=\"confidence band orange\"") && bar.contains("<rect width=\"79\""))
    #expect(bar.contains("79% orange"))
  }
}
