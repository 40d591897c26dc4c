import TestSupport
import Testing

@testable import Images

@Suite("What it costs to clean a picture")
struct ImageCostTests {
  @Test("is told by its header: the pixels, for each time that a decoder goes over them")
  func cost() throws {
    #expect(ImageCleaner.cost(of: try Drawn.jpeg(64, 48)) == 64 * 48)
    #expect(ImageCleaner.cost(of: GatedDecoder.picture(3000, 2000)) == 6_000_000)
    // A scan more, as a progressive picture has many.
    let file = try Drawn.jpeg(64, 48)
    let scan = [0xFF, 0xDA, 0, 2] as [UInt8]
    #expect(ImageCleaner.cost(of: file.dropLast(2) + scan + file.suffix(2)) == 2 * 64 * 48)
  }

  @Test("is little for what is no picture")
  func none() {
    for file in [
      [], Array("GIF89a".utf8), [0xFF, 0xD8, 0xFF], Array(GatedDecoder.picture(10, 10).prefix(20)),
    ] {
      #expect(ImageCleaner.cost(of: file) == 0)
    }
  }
}
