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

  @Test("Shares are drawn with their intervals, escaped, within the drawing, and told in words")
  func intervals() {
    let html = IntervalChart(
      "Agreement",
      lines: [
        .init("<Tonsillitis>, red", share: 0.8, low: 0.49, high: 0.94, note: "8 of 10"),
        .init("Normal", share: 1, low: 0, high: 1, note: "1 of 1"),
      ]
    ).html.markup
    #expect(
      html.contains(
        "<title>Agreement. &lt;Tonsillitis&gt;, red: 80%, between 49% and 94%, 8 of 10. Normal: 100%, between 0% and "
          + "100%, 1 of 1</title>"))
    // From 190 to 520 is the line from 0 to 100 %.
    #expect(html.contains("<line class=\"interval\" x1=\"352\" y1=\"32\" x2=\"500\" y2=\"32\"/>"))
    #expect(html.contains("<circle class=\"point\" cx=\"454\" cy=\"32\" r=\"5\"/>"))
    #expect(html.contains("cx=\"520\" cy=\"56\"") && !html.contains("<Tonsillitis"))
  }

  @Test(
    "A calibration has a point for each group at its confidence and its share, and the line on which both are the same"
  )
  func calibration() {
    let html = CalibrationChart(
      "Calibration",
      points: [
        .init(confidence: 0.5, share: 0.5, low: 0.25, high: 0.75, note: "12"),
        .init(confidence: 1, share: 1, low: 0.9, high: 1, note: "40"),
      ]
    ).html.markup
    #expect(html.contains("At 50% confidence 50% agree, between 25% and 75%, 12. At 100% confidence"))
    #expect(html.contains("<line class=\"ideal\" x1=\"60\" y1=\"330\" x2=\"620\" y2=\"16\"/>"))
    // Half of the way from 60 to 620, and from 330 up to 16.
    #expect(html.contains("<circle class=\"point\" cx=\"340\" cy=\"173\" r=\"5\"/>"))
    #expect(html.contains("<circle class=\"point\" cx=\"620\" cy=\"16\" r=\"5\"/>"))
  }
}
