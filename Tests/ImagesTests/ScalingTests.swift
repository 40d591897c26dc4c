import Testing

@testable import Images

@Suite("Scaling averages the light of areas")
struct ScalingTests {
  /// One row of grey values, and what it becomes at another width.
  struct Row: Sendable, CustomTestStringConvertible {
    let values: [UInt8]
    let expected: [UInt8]
    var testDescription: String { "\(values) to \(expected.count)" }
  }

  static let rows = [
    Row(values: [0, 255], expected: [188]),  // half the light of white
    Row(values: [0, 100, 200, 100], expected: [71, 160]),
    Row(values: [10, 20, 30], expected: [21]),
    Row(values: [0, 90, 240], expected: [52, 206]),  // two thirds and one third
    Row(values: [255, 255, 255, 255, 255], expected: [255, 255, 255]),
    Row(values: [0, 0, 0, 0, 0], expected: [0, 0]),
    Row(values: [7, 9], expected: [7, 9]),
  ]

  @Test("A row becomes the weighted mean light of what each pixel covers", arguments: rows)
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
    let bounded = { (limits: ImageLimits, width: Int, height: Int) in
      limits.allowed(PixelSize(width, height))
    }
    let longer = ImageLimits(maxDimension: 224)
    #expect(bounded(longer, 4000, 3000) == PixelSize(224, 168))
    #expect(bounded(longer, 3000, 4000) == PixelSize(168, 224))
    #expect(bounded(ImageLimits(maxDimension: 100), 10_000, 3) == PixelSize(100, 1))
    #expect(bounded(ImageLimits(maxDimension: 0), 5, 5) == PixelSize(1, 1))
    let shorter = ImageLimits(minSide: 224)
    #expect(bounded(shorter, 4000, 3000) == PixelSize(299, 224))
    #expect(bounded(shorter, 3000, 4000) == PixelSize(224, 299))
    #expect(bounded(shorter, 4000, 224) == PixelSize(4000, 224))
    // With both, both hold.
    #expect(bounded(ImageLimits(maxDimension: 250, minSide: 224), 4000, 3000) == PixelSize(250, 188))
    #expect(PixelSize(.max, 2).pixels == .max)
  }

  @Test(
    "Only what was scaled below the side that models see is told", arguments: [(40, true), (120, false)])
  func below(side: Int, expected: Bool) async throws {
    // 160 by 120 pixels are fewer already.
    let file = try await Fixtures.bytes("photo.jpg")
    let clean = try ImageCleaner(limits: ImageLimits(minSide: side)).clean(file)
    #expect(clean.isBelowModelSide == expected)
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
