import Testing

@testable import Images

@Suite("Damaged files are refused and never crash")
struct DamageTests {
  static let files = [
    "photo.jpg", "turn-progressive-6.jpg", "turn-odd-6.jpg", "cmyk.jpg", "grey.jpg", "metadata.jpg",
    "photo-lossless.png", "kind-interlaced.png", "kind-palette-transparent.png", "turn-png-6.png",
  ]

  @Test("A file cut off at every 97th byte is refused", arguments: files)
  func cutOff(name: String) async throws {
    let whole = try await Fixtures.bytes(name)
    // What follows the picture's end may be missing.
    let picture = name == "metadata.jpg" ? whole.count - 53 : whole.count
    for length in stride(from: 0, to: picture, by: 97) {
      #expect(throws: ImageRefusal.self, "\(length) bytes") {
        try ImageCleaner().clean(Array(whole.prefix(length)))
      }
    }
  }

  @Test("A file that lacks its last byte is called cut off", arguments: files.filter { $0 != "metadata.jpg" })
  func lastByte(name: String) async throws {
    let whole = try await Fixtures.bytes(name)
    let refusal = try #require(throws: ImageRefusal.self) { try ImageCleaner().clean(whole.dropLast()) }
    #expect(refusal.code == .truncated)
    #expect(refusal.message.contains("is cut off: it ends before the picture does."))
  }

  @Test("A JPEG that ends before its picture begins is called cut off", arguments: [4, 20, 60, 150])
  func header(length: Int) async throws {
    let whole = try await Fixtures.bytes("photo.jpg")
    for end in [[], [0xFF, 0xD9]] as [[UInt8]] {
      // With 60 and 150 bytes the cut is within a table, where the end marker is taken for data.
      let refusal = try #require(throws: ImageRefusal.self) {
        try ImageCleaner().clean(Array(whole.prefix(length)) + end)
      }
      #expect(refusal.code == .truncated)
    }
  }

  @Test("A JPEG with values that no picture can have is refused, not written anew as nonsense")
  func impossibleValues() throws {
    var row = [Int16](repeating: 0, count: 128)
    let isPossible = { (row: [Int16]) in
      row.withUnsafeBufferPointer { row in
        row.baseAddress.map { LosslessTurn.holdsPossibleValues($0, count: row.count) }
      }
    }
    for (index, value, expected) in [
      (64, -1_024, true), (64, -1_025, false), (64, 1_023, true), (64, 1_024, false),
      (65, -1_023, true), (65, -1_024, false), (127, 1_023, true), (127, 1_024, false), (0, 1_024, false),
    ] as [(Int, Int16, Bool)] {
      row[index] = value
      #expect(isPossible(row) == expected, "\(value) at \(index)")
      row[index] = 0
    }
  }

  @Test("Half a photo is called cut off also when it is scaled down", arguments: [nil, 40, 80])
  func half(dimension: Int?) async throws {
    let whole = try await Fixtures.bytes("photo.jpg")
    let refusal = try #require(throws: ImageRefusal.self) {
      try ImageCleaner(limits: ImageLimits(maxDimension: dimension)).clean(
        Array(whole.prefix(whole.count / 2)))
    }
    #expect(refusal.code == .truncated)
  }

  @Test(
    "With bits flipped, a JPEG is refused or comes out sound", arguments: files.filter { $0.hasSuffix("jpg") }
  )
  func flippedJPEG(name: String) async throws {
    let whole = try await Fixtures.bytes(name)
    var chance = SeededGenerator(seed: 42)
    var refused = 0
    for _ in 0..<250 {
      var file = whole
      for _ in 0..<Int.random(in: 1...3, using: &chance) {
        file[Int.random(in: 0..<file.count, using: &chance)] ^= 1 << UInt8.random(in: 0..<8, using: &chance)
      }
      do {
        let clean = try ImageCleaner(limits: ImageLimits(maxPixels: 1_000_000)).clean(file)
        let parts = JPEGParts(clean.bytes)
        #expect(!parts.isMalformed && parts.trailing == 0)
        let picture = try Picture(jpeg: clean.bytes)
        #expect(picture.width == clean.width && picture.height == clean.height)
      } catch let refusal as ImageRefusal {
        #expect(!refusal.message.isEmpty)
        refused += 1
      }
    }
    #expect(refused > 0)
  }

  @Test(
    "A PNG with any bit flipped is refused by its checksums", arguments: files.filter { $0.hasSuffix("png") })
  func flippedPNG(name: String) async throws {
    let whole = try await Fixtures.bytes(name)
    var chance = SeededGenerator(seed: 42)
    for _ in 0..<100 {
      var file = whole
      let at = Int.random(in: 0..<file.count, using: &chance)
      file[at] ^= 1 << UInt8.random(in: 0..<8, using: &chance)
      #expect(throws: ImageRefusal.self, "byte \(at)") { try ImageCleaner().clean(file) }
    }
  }

  @Test("A PNG whose data are too few, though every checksum is right, is refused")
  func shortPNG() async throws {
    var file = try await Fixtures.bytes("kind-rgb.png")
    file[23] += 20  // twenty rows more than there are
    let header = file[12..<29].withUnsafeBytes { CRC32.of($0) }
    for index in 0..<4 { file[29 + index] = UInt8(truncatingIfNeeded: header >> UInt32(24 - 8 * index)) }
    let refusal = try #require(throws: ImageRefusal.self) { try ImageCleaner().clean(file) }
    #expect(refusal.code == .damaged)
  }

  @Test(
    "Bytes of chance behind a true signature are refused",
    arguments: [[0xFF, 0xD8, 0xFF], PNGStructure.signature])
  func chance(signature: [UInt8]) {
    var chance = SeededGenerator(seed: 7)
    for _ in 0..<300 {
      let tail = (0..<Int.random(in: 0..<400, using: &chance)).map { _ in
        UInt8.random(in: .min ... .max, using: &chance)
      }
      #expect(throws: ImageRefusal.self) { try ImageCleaner().clean(signature + tail) }
    }
  }

  @Test("The checksum is PNG's")
  func checksum() {
    let value = Array("123456789".utf8).withUnsafeBytes { CRC32.of($0) }
    #expect(value == 0xCBF4_3926)
  }
}

/// SplitMix64: the same numbers for the same start.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
