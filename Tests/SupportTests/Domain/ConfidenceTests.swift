import Foundation
import Testing

@testable import Support

@Suite("Confidence and its bands")
struct ConfidenceTests {
  @Test(
    "A band's lower edge belongs to it",
    arguments: [
      (1.0, ConfidenceBand.red), (0.8, .red), (0.7999999999999999, .orange), (0.79999999, .orange),
      (0.6, .orange), (0.5999999999999999, .yellow), (0.4, .yellow), (0.39999999999999997, .green),
      (0.0, .green), (-0.0, .green), (.leastNonzeroMagnitude, .green),
    ])
  func bands(value: Double, band: ConfidenceBand) throws {
    #expect(try #require(Confidence(value)).band == band)
  }

  @Test(
    "Only finite numbers from 0 to 1 are confidences",
    arguments: [1.0000000000000002, -0.0000001, .nan, .infinity, -.infinity, 80, -1])
  func refusals(value: Double) {
    #expect(Confidence(value) == nil)
  }

  @Test(
    "The percentage is rounded, but never into a higher band",
    arguments: [
      (0.78, "78%"), (0.7999, "79%"), (0.796, "79%"), (0.8, "80%"), (0.599, "59%"), (0.6, "60%"),
      (0.399999, "39%"), (0.4, "40%"), (0.005, "0%"), (0.0049, "0%"), (0, "0%"), (1, "100%"), (0.999, "100%"),
      (0.29, "29%"), (0.57, "57%"), (0.985, "98%"), (0.125, "12%"), (0.575, "57%"), (0.795, "79%"),
    ])
  func percentages(value: Double, text: String) throws {
    #expect(try #require(Confidence(value)).percentageText == text)
  }

  @Test("A share is rounded as the apps' own formatter does")
  func rounding() {
    let formatter = NumberFormatter()
    formatter.locale = Locale(identifier: "en_US")
    formatter.numberStyle = .percent
    formatter.maximumFractionDigits = 0
    for number in 0...10_000 {
      let share = Double(number) / 10_000
      #expect(formatter.string(from: NSNumber(value: share)) == "\(wholePercentage(share))%", "\(share)")
    }
  }

  @Test("A shown percentage always lies in the band that is shown with it")
  func consistency() throws {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      let confidence = try #require(Confidence(.random(in: 0...1, using: &generator)))
      let shown = try #require(Confidence(Double(confidence.percentage) / 100))
      #expect(shown.band <= confidence.band, "\(confidence.value)")
    }
  }
}
