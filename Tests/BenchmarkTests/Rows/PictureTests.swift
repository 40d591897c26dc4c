import Testing

@testable import BenchmarkRows
@testable import Images

@Suite("The pictures of the benchmarks")
struct PictureTests {
  @Test("have the size that is asked for, and no two are alike")
  func size() throws {
    let drawn = try DrawnPictures(width: 320, height: 240, bytes: 20_000)
    let pictures = try (0..<3).map { try drawn.jpeg($0) }
    for picture in pictures { #expect((19_000...22_000).contains(picture.count)) }
    #expect(Set(pictures).count == 3)
    #expect(try drawn.jpeg(1) == pictures[1])
  }

  @Test("are told from what cannot be drawn")
  func impossible() {
    #expect(throws: (any Error).self) { try DrawnPictures(width: 16, height: 16, bytes: 120_000) }
  }

  @Test("are turned upright without loss when they lie as a phone stores them")
  func phone() throws {
    let jpeg = try DrawnPictures(width: 320, height: 240, bytes: 20_000).jpeg(0)
    let clean = try ImageCleaner().clean(PhonePicture.lyingDown(jpeg))
    #expect(clean.changes.turned)
    #expect(!clean.changes.reencoded)
    #expect(clean.width == 240)
    #expect(clean.height == 320)
  }
}
