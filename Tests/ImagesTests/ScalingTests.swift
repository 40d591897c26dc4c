import Testing

@testable import Images

@Suite("Scaling averages areas")
struct ScalingTests {
  /// One row of grey values, and what it becomes at another width.
  struct Row: Sendable, CustomTestStringConvertible {
    let values: [UInt8]
    let expected: [UInt8]
    var testDescription: String { "\(values) to \(expected.count)" }
  }

  static let rows = [
    Row(values: [0, 100, 200, 100], expected: [50, 150]),
    Row(values: [10, 20, 30], expected: [20]),
    Row(values: [0, 90, 240], expected: [30, 190]),  // two thirds and one third
    Row(values: [255, 255, 255, 255, 255], expected: [255, 255, 255]),
    Row(values: [0, 0, 0, 0, 0], expected: [0, 0]),
    Row(values: [7, 9], expected: [7, 9]),
  ]

  @Test("A row becomes the weighted means of what each pixel covers", arguments: rows)
  func row(_ row: Row) throws {
    #expect(
      try grey(scale(row.values, PixelSize(row.values.count, 1), PixelSize(row.expected.count, 1)))
        == row.expected)
  }

  @Test("A column likewise", arguments: rows)
  func column(_ row: Row) throws {
    #expect(
      try grey(scale(row.values, PixelSize(1, row.values.count), PixelSize(1, row.expected.count)))
        == row.expected)
  }

  @Test("Nothing is scaled up")
  func notUp() throws {
    let result = try scale([1, 2], PixelSize(2, 1), PixelSize(10, 10))
    #expect(result.size == PixelSize(2, 1))
  }

  @Test("Sizes keep their proportions and no side vanishes")
  func proportions() {
    #expect(PixelSize(4000, 3000).scaled(longestSide: 224) == PixelSize(224, 168))
    #expect(PixelSize(3000, 4000).scaled(longestSide: 224) == PixelSize(168, 224))
    #expect(PixelSize(10_000, 3).scaled(longestSide: 100) == PixelSize(100, 1))
    #expect(PixelSize(5, 5).scaled(longestSide: 0) == PixelSize(1, 1))
    #expect(PixelSize(.max, 2).pixels == .max)
  }

  private func scale(_ values: [UInt8], _ size: PixelSize, _ wanted: PixelSize) throws -> PixelBuffer {
    let pixels = try PixelBuffer(size)
    for (index, value) in values.enumerated() {
      for sample in 0..<3 { pixels.start[index * 3 + sample] = value }
    }
    return try pixels.scaled(to: wanted)
  }

  private func grey(_ pixels: borrowing PixelBuffer) -> [UInt8] {
    let start = pixels.start
    return (0..<pixels.size.pixels).map { start[$0 * 3] }
  }
}
