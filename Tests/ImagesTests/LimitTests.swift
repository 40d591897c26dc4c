import Testing

@testable import Images

@Suite("Limits hold at their edges")
struct LimitTests {
  @Test("The defaults are those that the documentation names")
  func defaults() {
    let limits = ImageLimits()
    #expect(limits.maxBytes == 10_000_000)
    #expect(limits.maxPixels == 67_108_864)
    #expect(limits.maxOutputBytes == 5_242_879)
    #expect(limits.maxDimension == nil)
    #expect(limits.minSide == nil)
  }

  @Test(
    "A file of exactly the most bytes is taken, one more is refused",
    arguments: ["photo.jpg", "photo-lossless.png"])
  func bytes(name: String) async throws {
    let file = try await Fixtures.bytes(name)
    _ = try ImageCleaner(limits: ImageLimits(maxBytes: file.count)).clean(file)
    let refusal = #expect(throws: ImageRefusal.self) {
      try ImageCleaner(limits: ImageLimits(maxBytes: file.count - 1)).clean(file)
    }
    #expect(refusal?.code == .fileTooLarge)
  }

  @Test(
    "A picture of exactly the most pixels is taken, one more is refused",
    arguments: ["photo.jpg", "photo-lossless.png"])
  func pixels(name: String) async throws {
    let file = try await Fixtures.bytes(name)
    _ = try ImageCleaner(limits: ImageLimits(maxPixels: 160 * 120)).clean(file)
    let refusal = #expect(throws: ImageRefusal.self) {
      try ImageCleaner(limits: ImageLimits(maxPixels: 160 * 120 - 1)).clean(file)
    }
    #expect(refusal?.code == .tooManyPixels)
    #expect(refusal?.message.contains("160 by 120 pixels; at most 19,199") == true)
  }

  @Test(
    "What phones of 48 to 64 megapixels take is admitted, in one scan and in ten",
    arguments: [(8_160, 6_144), (8_192, 6_144), (9_248, 6_936), (9_280, 6_944), (8_192, 8_192)])
  func phones(width: Int, height: Int) throws {
    let size = PixelSize(width, height)
    try ImageLimits().check(size)
    try ImageLimits().check(size, scans: 10)
    #expect(throws: ImageRefusal.self) { try ImageLimits().check(PixelSize(width, height * 2)) }
  }

  @Test("A header that promises billions of pixels is refused by it", arguments: ["bomb.jpg", "bomb.png"])
  func bombs(name: String) async throws {
    let file = try await Fixtures.bytes(name)
    let refusal = #expect(throws: ImageRefusal.self) { try ImageCleaner().clean(file) }
    #expect(refusal?.code == .tooManyPixels)
  }

  @Test(
    "Output of exactly the most bytes is kept, at one less it is made smaller",
    arguments: ["photo.jpg", "photo-lossless.png"])
  func outputBytes(name: String) async throws {
    let file = try await Fixtures.bytes(name)
    let free = try ImageCleaner().clean(file)
    let exact = try ImageCleaner(limits: ImageLimits(maxOutputBytes: free.bytes.count)).clean(file)
    #expect(exact.bytes == free.bytes)
    let less = try ImageCleaner(limits: ImageLimits(maxOutputBytes: free.bytes.count - 1)).clean(file)
    #expect(less.bytes.count < free.bytes.count)
    #expect(less.width == free.width)
    #expect(less.changes.reencoded == name.hasSuffix("png"))
  }

  @Test(
    "Output is scaled until it fits, keeping its proportions and its look",
    arguments: [8_000, 4_000, 2_000, 1_000])
  func scaledToFit(most: Int) async throws {
    let file = try await Fixtures.bytes("photo-lossless.png")
    let clean = try ImageCleaner(limits: ImageLimits(maxOutputBytes: most)).clean(file)
    #expect(clean.bytes.count <= most)
    // No more is taken off than needed: the last step aims just below the limit.
    #expect(clean.bytes.count > most / 2)
    #expect(abs(Double(clean.width) / Double(clean.height) - 4.0 / 3) < 0.1)
    let picture = try Picture(jpeg: clean.bytes)
    #expect(picture.width == clean.width)
    #expect(picture.samples[0] > picture.samples[2] + 60)  // the red corner is still first
  }

  @Test("What cannot be made small enough is refused")
  func cannotFit() async throws {
    let file = try await Fixtures.bytes("photo.jpg")
    let refusal = #expect(throws: ImageRefusal.self) {
      try ImageCleaner(limits: ImageLimits(maxOutputBytes: 100)).clean(file)
    }
    #expect(refusal?.code == .cannotFit)
  }

  @Test(
    "The longest side is exactly the given one, the other in proportion",
    arguments: ["wide.jpg", "wide-lossless.png"],
    [(640, 640, 96), (639, 639, 96), (320, 320, 48), (224, 224, 34), (64, 64, 10), (7, 7, 1), (1, 1, 1)])
  func dimension(name: String, sizes: (most: Int, width: Int, height: Int)) async throws {
    let file = try await Fixtures.bytes(name)
    let clean = try ImageCleaner(limits: ImageLimits(maxDimension: sizes.most)).clean(file)
    #expect(clean.width == sizes.width)
    #expect(clean.height == sizes.height)
    #expect(clean.changes.scaled == (sizes.most < 640))
    let picture = try Picture(jpeg: clean.bytes)
    #expect(picture.width == sizes.width)
    #expect(picture.height == sizes.height)
  }

  @Test("A turned picture is scaled by its own sides", arguments: 1...8)
  func turnedDimension(number: Int) async throws {
    let file = try await Fixtures.bytes("turn-420-\(number).jpg")
    let clean = try ImageCleaner(limits: ImageLimits(maxDimension: 32)).clean(file)
    #expect(clean.width == 32)
    #expect(clean.height == 24)
    let picture = try Picture(jpeg: clean.bytes)
    let corner = { (x: Int, y: Int) in Array(picture.samples[(y * 32 + x) * 3..<(y * 32 + x) * 3 + 3]) }
    #expect(corner(3, 3)[0] > 150 && corner(3, 3)[1] < 100)  // red
    #expect(corner(28, 3)[1] > 130 && corner(28, 3)[0] < 100)  // green
    #expect(corner(3, 20)[2] > 150)  // blue
    #expect(corner(28, 20)[0] > 180 && corner(28, 20)[1] > 160)  // yellow
  }
}
