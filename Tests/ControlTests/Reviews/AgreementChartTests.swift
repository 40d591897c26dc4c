import Testing

@testable import Control
@testable import Support

@Suite("The charts of reviews")
struct AgreementChartTests {
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
