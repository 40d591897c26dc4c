import Testing

@testable import Images

@Suite("A picture that is whole but untidy is taken, and one that lost pixels is not")
struct UntidyTests {
  private static func expectWhole(
    _ file: [UInt8], like name: String, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let plain = try await ImageCleaner().clean(Fixtures.bytes(name))
    let clean = try ImageCleaner().clean(file)
    #expect(
      try Picture(jpeg: clean.bytes).samples == Picture(jpeg: plain.bytes).samples,
      sourceLocation: sourceLocation)
    #expect(
      !JPEGParts(clean.bytes).isMalformed && JPEGParts(clean.bytes).trailing == 0,
      sourceLocation: sourceLocation)
    // Once it was cleaned it is tidy.
    #expect(try ImageCleaner().clean(clean.bytes).bytes == clean.bytes, sourceLocation: sourceLocation)
  }

  private static func expectDamaged(_ file: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
    let refusal = #expect(throws: ImageRefusal.self, sourceLocation: sourceLocation) {
      try ImageCleaner().clean(file)
    }
    #expect(refusal.map { [.damaged, .truncated].contains($0.code) } == true, sourceLocation: sourceLocation)
  }

  @Test("A baseline JPEG whose scan says 0 to 0 for its coefficients, as some phones write it")
  func scanParameters() async throws {
    for name in ["photo.jpg", "turn-444-6.jpg", "turn-odd-6.jpg", "restarts.jpg"] {
      var file = try await Fixtures.bytes(name)
      let scan = try #require(file.offset(of: 0xDA))
      let end = scan + 2 + Int(file[scan + 3])
      #expect(Array(file[end - 3..<end]) == [0, 63, 0])
      file[end - 2] = 0
      try await Self.expectWhole(file, like: name)
    }
  }

  @Test("A JFIF header of a revision to come", arguments: [2, 3, 9])
  func revision(major: UInt8) async throws {
    var file = try await Fixtures.bytes("photo.jpg")
    #expect(Array(file[6..<11]) == Array("JFIF\0".utf8))
    file[11] = major
    try await Self.expectWhole(file, like: "photo.jpg")
  }

  @Test("Bytes before the markers that a decoder restarts at", arguments: [1, 3, 9, 16])
  func beforeRestarts(count: Int) async throws {
    for value in [0, 0x5A] as [UInt8] {
      var file = try await Fixtures.bytes("restarts.jpg")
      for marker in (0xD0...0xD4) as ClosedRange<UInt8> {
        let at = try #require(file.offset(of: marker))
        file.insert(contentsOf: [UInt8](repeating: value, count: count), at: at)
      }
      try await Self.expectWhole(file, like: "restarts.jpg")
    }
  }

  @Test(
    "Frames of a video that are filled up with zeroes before or behind their end",
    arguments: [1, 7, 8, 64, 4_000])
  func padding(count: Int) async throws {
    for name in ["photo.jpg", "restarts.jpg", "turn-progressive-1.jpg"] {
      let file = try await Fixtures.bytes(name)
      let zeroes = [UInt8](repeating: 0, count: count)
      try await Self.expectWhole(file.dropLast(2) + zeroes + [0xFF, 0xD9], like: name)
      try await Self.expectWhole(file + zeroes, like: name)
    }
  }

  @Test("Bytes between the segments before the picture")
  func betweenSegments() async throws {
    var file = try await Fixtures.bytes("photo.jpg")
    let at = try #require(file.offset(of: 0xDB))
    file.insert(contentsOf: Array("junk between segments".utf8), at: at)
    try await Self.expectWhole(file, like: "photo.jpg")
  }

  @Test("Untidy in one place and damaged in another, it is refused")
  func both() async throws {
    var untidy = try await Fixtures.bytes("restarts.jpg")
    untidy[11] = 9
    let scan = try #require(untidy.offset(of: 0xDA))
    untidy[scan + 8] = 0
    try await Self.expectWhole(untidy, like: "restarts.jpg")
    // Without a row; with a row twice; ended within a row; without its last byte.
    let (first, second) = (try #require(untidy.offset(of: 0xD1)), try #require(untidy.offset(of: 0xD2)))
    Self.expectDamaged(Array(untidy[..<first] + untidy[second...]))
    Self.expectDamaged(Array(untidy[..<second] + untidy[first...]))
    Self.expectDamaged(untidy[..<(first + 4)] + [0xFF, 0xD9])
    Self.expectDamaged(untidy.dropLast())
    // Other bytes than zeroes before the end are what is left of a picture that was read wrongly.
    var photo = try await Fixtures.bytes("photo.jpg")
    photo[11] = 9
    Self.expectDamaged(photo.dropLast(2) + [UInt8](repeating: 0x5A, count: 40) + [0xFF, 0xD9])
    // Nor are zeroes in the place of samples what a frame is filled up with.
    let zeroes = [UInt8](repeating: 0, count: photo.count)
    for kept in [photo.count / 2, photo.count * 3 / 4, photo.count - 200] {
      Self.expectDamaged(photo.prefix(kept) + zeroes.dropFirst(kept + 2) + [0xFF, 0xD9])
      Self.expectDamaged(photo.prefix(kept) + zeroes + zeroes + [0xFF, 0xD9])
    }
    for length in stride(from: 400, to: photo.count, by: 211) {
      Self.expectDamaged(Array(photo.prefix(length)))
    }
    // What is said is what is wrong, and not what is untidy.
    let refusal = #expect(throws: ImageRefusal.self) {
      try ImageCleaner().clean(Array(photo.prefix(photo.count / 2)))
    }
    #expect(refusal?.code == .truncated)
  }

  // MARK: - PNG

  @Test(
    "A PNG with a wrong checksum in a chunk that is removed anyway",
    arguments: ["tEXt", "iTXt", "zTXt", "tIME", "pHYs", "bKGD", "prVt"])
  func checksum(name: String) async throws {
    let plain = try await Fixtures.bytes("kind-rgb.png")
    for cleaner in [ImageCleaner(), ImageCleaner(limits: ImageLimits(keepsPNG: true))] {
      let expected = try cleaner.clean(plain)
      for place in ["IDAT", "IEND"] {
        var parts = PNGParts(plain)
        var chunk = PNGParts.Chunk(name, Array("Comment\0text".utf8)).bytes
        chunk[chunk.count - 1] ^= 0x10
        parts.insert([PNGParts.Chunk(chunk)], before: place)
        #expect(try cleaner.clean(parts.bytes).bytes == expected.bytes)
      }
    }
  }

  @Test(
    "A PNG with a wrong checksum in a chunk that is needed, or in the name of one, is refused",
    arguments: ["cICP", "iCCP", "sRGB", "gAMA", "cHRM", "eXIf", "tRNS", "PLTE", "IDAT"])
  func neededChecksum(name: String) async throws {
    let plain = try await Fixtures.bytes("kind-rgb.png")
    for byte in 4..<8 {
      var parts = PNGParts(plain)
      var chunk = PNGParts.Chunk(name, [0, 0, 0, 1, 0, 0]).bytes
      chunk[byte] ^= byte == 4 ? 0 : 0x04
      if byte == 4 { chunk[8] ^= 1 }
      parts.insert([PNGParts.Chunk(chunk)], before: "IDAT")
      let refusal = #expect(throws: ImageRefusal.self) { try ImageCleaner().clean(parts.bytes) }
      #expect(refusal?.code == .damaged)
    }
  }

  @Test("A PNG with more data than its pixels")
  func moreData() async throws {
    let plain = try await Fixtures.bytes("kind-rgb.png")
    let expected = try ImageCleaner().clean(plain)
    var parts = PNGParts(plain)
    parts.cutData { [$0, [1, 2, 3, 4]] }
    #expect(try ImageCleaner().clean(parts.bytes).bytes == expected.bytes)
    var deep = PNGParts(try await Fixtures.bytes("suite-2-16-i-filtered.png"))
    let whole = try ImageCleaner().clean(deep.bytes)
    deep.cutData { [$0, [1, 2, 3, 4]] }
    #expect(try ImageCleaner().clean(deep.bytes).bytes == whole.bytes)
  }
}

extension [UInt8] {
  /// Where a marker is.
  fileprivate func offset(of marker: UInt8) -> Int? {
    indices.dropLast().first { self[$0] == 0xFF && self[$0 + 1] == marker }
  }
}
