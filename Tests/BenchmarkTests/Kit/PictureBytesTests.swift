import BenchmarkKit
import Testing

struct PictureBytesTests {
  @Test(
    "Each has the size that was asked for, and begins and ends as a JPEG", arguments: [64, 1001, 120_000])
  func size(bytes: Int) {
    let picture = PictureBytes.picture(3, bytes: bytes)
    #expect(picture.count == bytes)
    #expect(picture.prefix(3) == [0xFF, 0xD8, 0xFF])
    #expect(picture.suffix(2) == [0xFF, 0xD9])
  }

  @Test("They differ, and come out the same again")
  func distinct() {
    let pictures = PictureBytes.pictures(200, bytes: 64)
    #expect(Set(pictures).count == 200)
    #expect(pictures == PictureBytes.pictures(200, bytes: 64))
  }
}
