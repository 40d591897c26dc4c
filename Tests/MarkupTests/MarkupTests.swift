import Testing

@testable import Markup

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

  @Test("An address escapes its query, and leaves out what has no value")
  func addresses() {
    #expect(
      HTML.address("/audit", [("by", "ä b&c=d"), ("action", nil), ("user", "")])
        == "/audit?by=%c3%a4%20b%26c%3dd")
    #expect(HTML.address("/audit", []) == "/audit")
  }

  @Test(
    "A chart's scale is 1, 2 or 5 times a power of ten",
    arguments: [(0, 1), (0.07, 0.1), (3, 5), (12, 20), (501, 1000)])
  func scales(value: Double, top: Double) {
    #expect(Chart.roundedUp(value) == top)
  }
}
