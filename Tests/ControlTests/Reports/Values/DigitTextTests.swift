import Testing

@testable import Control

@Suite("Numbers in decimal")
struct DigitTextTests {
  @Test(
    "whole numbers are written as Swift does",
    arguments: [0, 1, 9, 10, 99, 100, 12_345, .max, -1, -9, -10, .min] as [Int64])
  func wholeNumbers(number: Int64) {
    #expect(Self.text { DigitText.append(number, to: &$0) } == "\(number)")
  }

  @Test("fractions of few digits are written as Swift does")
  func fewDigits() {
    let steps = Array(0...10_000).map { Double($0) / 10_000 }
    let millionths = stride(from: 0, through: 1_000_000, by: 37).map { Double($0) / 1_000_000 }
    #expect((steps + millionths).filter { !Self.isAsSwift($0) } == [])
  }

  @Test("the neighbours of such fractions are written in full")
  func neighbours() {
    let numbers = stride(from: 0, through: 1_000_000, by: 97).map { Double($0) / 1_000_000 }
    #expect(numbers.filter { !Self.isAsSwift($0.nextUp) || !Self.isAsSwift($0.nextDown) } == [])
  }

  @Test(
    "other numbers are written as Swift does",
    arguments: [
      0, -0.0, 1, -1, -0.5, 1.5, 1e-5, 0.00009999, 0.0001, 0.1 + 0.2, 1 / 3.0, 0.9999999, 1e16, 1e300, .pi,
      .infinity, -.infinity, .nan, .leastNonzeroMagnitude,
    ])
  func others(number: Double) {
    #expect(Self.isAsSwift(number))
  }

  private static func isAsSwift(_ number: Double) -> Bool {
    text { DigitText.append(number, to: &$0) } == String(describing: number)
  }

  private static func text(_ write: (inout [UInt8]) -> Void) -> String {
    var bytes: [UInt8] = []
    write(&bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}
