import BenchmarkKit
import Testing

struct FigureTextTests {
  @Test(
    "As many digits as tell something",
    arguments: [
      (0.0, "0"), (0.1234, "0.123"), (1.005, "1.00"), (9.999, "10.00"), (12.34, "12.3"), (123.4, "123"),
      (1234.5, "1 235"), (1_234_567, "1 234 567"), (-2.5, "-2.50"), (.infinity, "-"), (.nan, "-"),
    ])
  func number(value: Double, text: String) {
    #expect(FigureText.number(value) == text)
  }

  @Test("Places behind the point are kept also when they are zeros")
  func places() {
    #expect(FigureText.fixed(2, places: 2) == "2.00")
    #expect(FigureText.fixed(1999.999, places: 1) == "2 000.0")
    #expect(FigureText.fixed(-0.001, places: 1) == "0.0")
  }

  @Test("Megabytes are of a million bytes")
  func megabytes() {
    #expect(FigureText.megabytes(54_321_000) == "54.3")
  }
}
