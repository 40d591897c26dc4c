import Testing

@testable import Support

@Suite("The markup of a page")
struct MarkupTests {
  @Test("What is interpolated is shown as it is written, and is never markup")
  func escapes() {
    let hostile = "<script>\"'&</script>\u{202E}"
    let html: HTML = "<td title=\"\(hostile)\">\(hostile)</td>"
    let shown = "&lt;script&gt;&quot;&#39;&amp;&lt;/script&gt;"
    #expect(html.markup == "<td title=\"\(shown)\">\(shown)</td>")
  }

  @Test("A sign that Swift joins with its neighbour to one character is escaped too")
  func escapesJoinedSigns() {
    // An accent joins with what stands before it, and a Malayalam letter with what stands behind it.
    let attribute = "\"\u{301}&\u{301}'\u{301}"
    let text = "\u{D4E}<b\u{D4E}>"
    let html: HTML = "<td title=\"\(attribute)\">\(text)</td>"
    let shown = "<td title=\"&quot;\u{301}&amp;\u{301}&#39;\u{301}\">\u{D4E}&lt;b\u{D4E}&gt;</td>"
    #expect(html.markup.unicodeScalars.elementsEqual(shown.unicodeScalars))
  }

  @Test("A piece that is put into another stands as it is")
  func nests() {
    let rows: [HTML] = ["<li>a</li>", "<li>b</li>"]
    let none: HTML? = nil
    #expect(("<ul>\(rows)\(none)\(3)</ul>" as HTML).markup == "<ul><li>a</li><li>b</li>3</ul>")
  }

  @Test(
    "A chart's scale is 1, 2 or 5 times a power of ten",
    arguments: [(0, 1), (0.07, 0.1), (3, 5), (12, 20), (501, 1000)])
  func scales(value: Double, top: Double) {
    #expect(Chart.roundedUp(value) == top)
  }

  @Test("The contrast of colours is that of WCAG")
  func contrast() throws {
    let (white, black) = (try #require(Colour("#ffffff")), try #require(Colour("#000000")))
    #expect(white.contrast(with: black) == 21 && black.contrast(with: white) == 21)
    // The grey that is known to be the lightest which text on white may have.
    let grey = try #require(Colour("#767676"))
    #expect((4.54...4.55).contains(grey.contrast(with: white)))
    #expect(try #require(Colour("#777777")).contrast(with: white) < Colour.leastContrast)
    #expect(Colour("#0B57a4")?.description == "#0b57a4")
    for text in ["0b57a4", "#0b57a", "#0b57a44", "#0b57ag", "#", "", "red", "#-b57a4", "#٠b57a4"] {
      #expect(Colour(text) == nil)
    }
  }
}
