import Testing

@testable import Images

@Suite("No quality is lost that need not be")
struct QualityTests {
  /// A photo of 160 by 120 pixels, decoded.
  private func photo() async throws -> PixelBuffer {
    let expected = try await Fixtures.expected("photo.jpg")
    let pixels = try PixelBuffer(PixelSize(expected.width, expected.height))
    for (index, sample) in expected.samples.enumerated() { pixels.start[index] = sample }
    return pixels
  }

  private func clean(_ name: String, most: Int) async throws -> CleanImage {
    try await ImageCleaner(limits: ImageLimits(maxOutputBytes: most)).clean(Fixtures.bytes(name))
  }

  @Test("What is encoded anew has quality 98 and full colour where that fits")
  func best() async throws {
    let expected = try JPEGEncoder.encode(await photo(), quality: 98, .none)
    #expect(try await clean("photo-lossless.png", most: expected.count).bytes == expected)
  }

  @Test(
    "Where 98 does not fit, the highest quality that does is taken", arguments: [97, 96, 90, 89, 88, 81, 80])
  func highest(quality: Int) async throws {
    let expected = try JPEGEncoder.encode(await photo(), quality: quality, .none)
    #expect(try await clean("photo-lossless.png", most: expected.count).bytes == expected)
    let next = try JPEGEncoder.encode(await photo(), quality: quality + 1, .none)
    #expect(try await clean("photo-lossless.png", most: next.count - 1).bytes == expected)
  }

  @Test("Below quality 80 the colour is made coarser, and then the picture smaller")
  func coarser() async throws {
    let least = try JPEGEncoder.encode(await photo(), quality: 80, .none)
    let coarser = try await clean("photo-lossless.png", most: least.count - 1)
    #expect(!coarser.changes.scaled)
    let frame = try #require(JPEGParts(coarser.bytes).segments.first { $0.marker == 0xC0 }).content
    #expect(frame[7] == 0x22)  // 4:2:0
    let coarsest = try JPEGEncoder.encode(await photo(), quality: 80, .halfBoth)
    #expect(try await clean("photo-lossless.png", most: coarsest.count).bytes == coarsest)
    let smaller = try await clean("photo-lossless.png", most: coarsest.count - 1)
    #expect(smaller.changes.scaled && smaller.width < 160)
  }

  @Test("A JPEG that is a little too large is packed anew, and every pixel stays", arguments: [1, 3, 6, 8])
  func repacked(orientation: Int) async throws {
    let name = "turn-420-\(orientation).jpg"
    let plain = try await ImageCleaner().clean(Fixtures.bytes(name))
    let packed = try await clean(name, most: plain.bytes.count - 1)
    #expect(packed.bytes.count < plain.bytes.count)
    #expect(!packed.changes.reencoded && !packed.changes.scaled)
    #expect(try Picture(jpeg: packed.bytes).samples == Picture(jpeg: plain.bytes).samples)
    // Cleaned again under the same limit it is the same.
    let limits = ImageLimits(maxOutputBytes: plain.bytes.count - 1)
    #expect(try ImageCleaner(limits: limits).clean(packed.bytes).bytes == packed.bytes)
    // Where that does not fit either, the quality is searched.
    let searched = try await clean(name, most: packed.bytes.count - 1)
    #expect(searched.changes.reencoded)
  }

  @Test("The density is that of every clean picture, whatever the file says")
  func density() async throws {
    var file = try await Fixtures.bytes("photo.jpg")
    let clean = try ImageCleaner().clean(file)
    #expect(Array(clean.bytes[11..<18]) == [1, 1, 0, 0, 1, 0, 1])
    file.replaceSubrange(11..<18, with: [1, 2, 1, 0, 72, 1, 44])
    #expect(try ImageCleaner().clean(file).bytes == clean.bytes)
    // The same header as what is encoded anew has.
    let encoded = try await ImageCleaner().clean(Fixtures.bytes("photo-lossless.png"))
    #expect(encoded.bytes.prefix(20) == clean.bytes.prefix(20))
  }

  @Test(
    "A side that no JPEG can have is refused at once, with its reason", arguments: [(65_501, 1), (1, 65_501)])
  func longSide(width: Int, height: Int) throws {
    var header = Array("IHDR".utf8)
    for side in [width, height] { header += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: side >> $0) } }
    header += [8, 2, 0, 0, 0]
    let sum = header.withUnsafeBytes { CRC32.of($0) }
    let file =
      PNGStructure.signature + [0, 0, 0, 13] + header
      + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> UInt32($0)) }
    let refusal = try #require(throws: ImageRefusal.self) { try ImageCleaner().clean(file) }
    #expect(refusal.code == .tooManyPixels)
    #expect(refusal.message.contains("neither side may have more than 65,500"))
  }

  @Test("A JPEG of more than a hundred scans is refused before it is decoded")
  func scans() async throws {
    let file = try await Fixtures.bytes("progressive.jpg")
    let own = JPEGParts(file).segments.count { $0.marker == 0xDA }
    #expect(own > 1)
    let scan: [UInt8] = [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 0, 0]
    let with = { (count: Int) in
      file.dropLast(2) + [[UInt8]](repeating: scan, count: count - own).joined() + [0xFF, 0xD9]
    }
    let refusal = try #require(throws: ImageRefusal.self) { try ImageCleaner().clean(Array(with(101))) }
    #expect(refusal.code == .unsupportedVariant)
    #expect(refusal.message.contains("a JPEG of 64 by 48 pixels in 101 scans"))
    // With a hundred it is read, and then found to be damaged.
    let damaged = try #require(throws: ImageRefusal.self) { try ImageCleaner().clean(Array(with(100))) }
    #expect(damaged.code != .unsupportedVariant)
  }

  @Test(
    "Pixels times scans are at most 700 million",
    arguments: [(10_000, 7_000, 10, true), (10_000, 7_000, 11, false), (7_000, 1_000, 100, true)])
  func scannedPixels(width: Int, height: Int, scans: Int, expected: Bool) {
    let isAllowed = (try? ImageLimits().check(PixelSize(width, height), scans: scans)) != nil
    #expect(isAllowed == expected)
  }
}
