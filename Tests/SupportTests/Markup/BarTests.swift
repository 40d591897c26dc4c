import Testing

@testable import Support

@Suite("Bars of a page")
struct BarTests {
  @Test("Columns are as high as their share of the scale, and each number stands above its own")
  func columns() {
    let chart = ColumnChart(
      "Analyses", label: "Day", unit: "Analyses", bars: [.init("1", 5), .init("2", 0), .init("3", 10)])
    let markup = chart.html.markup
    #expect(markup.contains("height=\"144\""))
    #expect(markup.contains("height=\"72\""))
    #expect(markup.contains("height=\"0\""))
    #expect(markup.contains("<title>Analyses: 15 in all, the most 10, at 3</title>"))
  }

  @Test("A number that would run into the next column's is left to the table behind")
  func crowdedColumns() {
    let bars = (1...31).map { ColumnChart.Bar(String($0), 123_456) }
    let markup = ColumnChart("Analyses", label: "Day", unit: "Analyses", bars: bars).html.markup
    #expect(!markup.contains("class=\"value\" x=\"53\" y=\"73\""))
    #expect(markup.ranges(of: "<td").count == 31)
  }

  @Test("Parts are told apart by patterns and numbers, not by colours alone")
  func patterns() {
    let markup = Self.chart(.common).html.markup
    for fill in [
      "fill=\"none\"", "fill=\"url(#x-dots)\"", "fill=\"url(#x-stripes)\"", "fill=\"currentColor\"",
    ] {
      #expect(markup.contains(fill))
    }
    #expect(markup.contains("class=\"count\""))
  }

  @Test("Bars lie on one scale, or each is its own whole")
  func scales() {
    #expect(Self.chart(.common).html.markup.contains("width=\"320\"") == false)
    let shares = Self.chart(.shares).html.markup
    #expect(shares.contains("x=\"170\" y=\"29\" width=\"320\""))
  }

  @Test("Names and notes are escaped, and a name that is too long goes on in another line")
  func escapes() {
    let name = "<b>" + String(repeating: "n", count: 40)
    let chart = BarChart(
      "x", "T", label: "L", parts: [.init("p", .solid, style: "good")], bars: [.init(name, [1], note: "<i>")])
    let markup = chart.html.markup
    #expect(!markup.contains("<b>") && !markup.contains("<i>"))
    #expect(markup.contains(">&lt;b&gt;\(String(repeating: "n", count: 23))</text>"))
    #expect(markup.contains(">\(String(repeating: "n", count: 17))</text>"))
    #expect(markup.contains("&lt;b&gt;\(String(repeating: "n", count: 40))"))
  }

  @Test("Nothing at all is drawn without a fault")
  func nothing() {
    #expect(ColumnChart("T", label: "L", unit: "U", bars: []).html.markup.contains("T: none"))
    let empty = BarChart(
      "x", "T", label: "L", parts: [.init("p", .solid, style: "good")], bars: [.init("n", [0], note: "")])
    #expect(!empty.html.markup.contains("class=\"part good\" x=\"170\""))
  }

  private static func chart(_ scale: BarChart.Scale) -> BarChart {
    BarChart(
      "x", "T", label: "L",
      parts: [
        .init("a", .blank, style: "good"), .init("b", .dots, style: "warn"),
        .init("c", .stripes, style: "warn"),
        .init("d", .solid, style: "bad"),
      ],
      bars: [.init("first", [10, 10, 10, 10], note: "40"), .init("second", [20, 0, 0, 0], note: "20")],
      scale: scale)
  }
}
