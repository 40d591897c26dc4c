import Testing

@testable import Images

@Suite("A PNG of every kind comes out as a decoder that is not libpng sees it")
struct PNGSuiteTests {
  /// What `scripts/lib/draw_png_suite.py` draws.
  static let names: [String] = {
    var names: [String] = []
    for (colour, depths) in [
      (0, [1, 2, 4, 8, 16]), (2, [8, 16]), (3, [1, 2, 4, 8]), (4, [8, 16]), (6, [8, 16]),
    ] {
      for depth in depths {
        for order in ["i", "n"] {
          for kind in ["plain", "filtered"] + (colour < 4 ? ["clear"] : []) {
            names.append("suite-\(colour)-\(depth)-\(order)-\(kind).png")
          }
        }
      }
    }
    for depth in [8, 16] { names += (1...9).map { "suite-small-\(depth)-\($0).png" } }
    return names
  }()

  private static func decoded(_ file: [UInt8]) throws -> Picture {
    try file.withUnsafeBytes { bytes in
      let structure = try PNGStructure(bytes, limits: ImageLimits())
      var pixels = try PNGDecoder.decode(bytes, structure)
      pixels.finishColours(nil)
      return Picture(pixels)
    }
  }

  @Test("to the last pixel", arguments: names)
  func pixels(name: String) async throws {
    let picture = try Self.decoded(await Fixtures.bytes(name))
    let expected = try await Fixtures.expected(name)
    #expect(picture.width == expected.width && picture.height == expected.height)
    // Of 16 bits the lower 8 are rounded away, and what is half transparent is rounded once more.
    let furthest = zip(picture.samples, expected.samples).map { abs(Int($0) - Int($1)) }.max()
    #expect(try #require(furthest) <= (name.contains("-16-") ? 1 : 0))
  }

  @Test("An interlaced one of 16 bits with too few data, or other data, is refused")
  func damaged() async throws {
    let parts = PNGParts(try await Fixtures.bytes("suite-2-16-i-filtered.png"))
    var cut = parts
    cut.cutData { [Array($0.dropLast(40))] }
    var ended = parts
    ended.cutData { [Array($0.dropLast(4))] }
    var other = parts
    other.cutData { data in [data.indices.map { $0 == data.count - 1 ? data[$0] ^ 1 : data[$0] }] }
    for file in [cut, ended, other] {
      let refusal = #expect(throws: ImageRefusal.self) { try ImageCleaner().clean(file.bytes) }
      #expect(refusal?.code == .damaged)
    }
  }
}
