import Testing

@testable import Images

@Suite("Colours keep their meaning")
struct ColourTests {
  @Test(
    "CMYK, YCCK, RGB, grey and progressive JPEGs look as before",
    arguments: ["cmyk.jpg", "ycck.jpg", "rgb-adobe.jpg", "grey.jpg", "progressive.jpg"])
  func jpegKinds(name: String) async throws {
    let clean = try await ImageCleaner().clean(Fixtures.bytes(name))
    let picture = try Picture(jpeg: clean.bytes)
    let expected = try await Fixtures.expected(name)
    #expect(try #require(picture.difference(from: expected)) < 2)
  }

  @Test(
    "What an Adobe segment must explain is encoded anew, the rest is not",
    arguments: zip(
      ["cmyk.jpg", "ycck.jpg", "rgb-adobe.jpg", "grey.jpg", "progressive.jpg"],
      [true, true, true, false, false]))
  func reencoded(name: String, expected: Bool) async throws {
    let clean = try await ImageCleaner().clean(Fixtures.bytes(name))
    #expect(clean.changes.reencoded == expected)
  }

  @Test("Every kind of PNG becomes the same picture on white", arguments: Fixtures.pngKinds)
  func pngKinds(name: String) async throws {
    let clean = try await ImageCleaner().clean(Fixtures.bytes(name))
    let picture = try Picture(jpeg: clean.bytes)
    let expected = try await Fixtures.expected(name)
    #expect(try #require(picture.difference(from: expected)) < 2)
    #expect(clean.source == .png)
    #expect(clean.changes.reencoded)
  }

  @Test("What is transparent is white")
  func transparent() async throws {
    let clean = try await ImageCleaner().clean(Fixtures.bytes("kind-rgba.png"))
    let picture = try Picture(jpeg: clean.bytes)
    let middle = (picture.height / 2 * picture.width + picture.width / 2) * 3
    #expect(picture.samples[middle..<middle + 3].allSatisfy { $0 > 250 })
  }

  @Test("A grey JPEG stays grey, a grey PNG becomes colour")
  func grey() async throws {
    let kept = try await ImageCleaner().clean(Fixtures.bytes("turn-grey-3.jpg"))
    #expect(JPEGParts(kept.bytes).components == 1)
    let made = try await ImageCleaner().clean(Fixtures.bytes("kind-grey.png"))
    #expect(JPEGParts(made.bytes).components == 3)
  }

  @Test(
    "A sampling without a name is encoded anew without any", arguments: [Orientation.upright, .transpose])
  func rareSampling(orientation: Orientation) async throws {
    let expected = try await Fixtures.expected("turn-444-1.jpg")
    let pixels = try PixelBuffer(PixelSize(expected.width, expected.height))
    for (index, sample) in expected.samples.enumerated() { pixels.start[index] = sample }
    let quarter = try JPEGEncoder.encode(pixels, quality: 95, .quarterAcross)
    let file = try quarter.withUnsafeBytes {
      try LosslessTurn.turn($0, orientation, TurboHandle(.transform))
    }
    let clean = try ImageCleaner().clean(file)
    #expect(clean.changes.reencoded == (orientation == .transpose))
    #expect(clean.width == (orientation == .transpose ? 48 : 64))
    let frame = try #require(JPEGParts(clean.bytes).segments.first { $0.marker == 0xC0 }).content
    #expect(frame[7] == (orientation == .transpose ? 0x11 : 0x41))
  }
}
