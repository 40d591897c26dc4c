import Testing

@testable import Images

@Suite("A PNG that may stay one")
struct KeptPNGTests {
  private static let cleaner = ImageCleaner(limits: ImageLimits(keepsPNG: true))

  private static let plain =
    ["rgb", "grey", "palette", "one-bit", "interlaced"].map { "kind-\($0).png" }
    + ["photo-lossless.png", "wide-lossless.png", "metadata.png", "turn-png-1.png"]
    + ["srgb", "cicp-srgb", "srgb-third"].map { "colour-\($0)-png.png" }

  @Test("keeps its compressed pixels byte for byte, and has nothing else", arguments: plain)
  func kept(name: String) async throws {
    let file = try await Fixtures.bytes(name)
    let clean = try Self.cleaner.clean(file)
    let (before, after) = (PNGParts(file), PNGParts(clean.bytes))
    #expect(after.data == before.data)
    #expect(after.chunks.first == before.chunks.first)
    #expect(after.chunks.allSatisfy(\.isSound) && after.trailing.isEmpty)
    // The palette stays where the samples are numbers of its colours.
    let palette = before.chunks[0].content[9] == 3 ? ["PLTE"] : []
    #expect(after.names.filter { $0 != "IDAT" } == ["IHDR"] + palette + ["IEND"])
    #expect(clean.source == .png && clean.bytes.withUnsafeBytes { ImageFormat($0) } == .png)
    #expect(clean.changes.metadataBytesRemoved == file.count - clean.bytes.count)
    #expect(!clean.changes.reencoded && !clean.changes.converted && !clean.changes.scaled)
    // What decoders make of it is the same, and it is clean.
    let picture = try Picture(png: clean.bytes)
    #expect(try picture.samples == Picture(png: file).samples)
    #expect(picture.width == clean.width && picture.height == clean.height)
    #expect(try Self.cleaner.clean(clean.bytes).bytes == clean.bytes)
  }

  @Test(
    "becomes a JPEG as ever when it is transparent, turned, in other colours or has 16 bits a sample",
    arguments: ["rgba", "grey-alpha", "palette-transparent", "rgb-16", "grey-16"].map { "kind-\($0).png" }
      + ["p3", "adobe", "clear", "grey", "described", "cicp-p3", "iccp-second"].map { "colour-\($0)-png.png" }
      + (2...8).map { "turn-png-\($0).png" })
  func changed(name: String) async throws {
    let file = try await Fixtures.bytes(name)
    let clean = try Self.cleaner.clean(file)
    #expect(clean.bytes.withUnsafeBytes { ImageFormat($0) } == .jpeg)
    #expect(clean == (try ImageCleaner().clean(file)))
  }

  @Test("becomes a JPEG where it has more bytes than are sent, or is to be scaled")
  func limits() async throws {
    let plain = try await Fixtures.bytes("photo-lossless.png")
    var noted = PNGParts(plain)
    noted.insert([PNGParts.Chunk("tEXt", Array("Comment\0a word".utf8))], before: "IDAT")
    // What counts is what is left of it.
    let (file, most, side) = (noted.bytes, plain.count, try Picture(png: plain).width)
    #expect(try Self.cleaner.clean(file).bytes == plain)
    func format(_ limits: ImageLimits) throws -> ImageFormat? {
      try ImageCleaner(limits: limits).clean(file).bytes.withUnsafeBytes { ImageFormat($0) }
    }
    #expect(try format(ImageLimits(maxOutputBytes: most, keepsPNG: true)) == .png)
    #expect(try format(ImageLimits(maxOutputBytes: most - 1, keepsPNG: true)) == .jpeg)
    #expect(try format(ImageLimits(maxDimension: side, keepsPNG: true)) == .png)
    #expect(try format(ImageLimits(maxDimension: side - 1, keepsPNG: true)) == .jpeg)
    #expect(try format(ImageLimits(minSide: 8, keepsPNG: true)) == .jpeg)
    #expect(try format(ImageLimits(maxOutputBytes: most)) == .jpeg)
  }

  @Test("loses every chunk of metadata, wherever it stands, and what is behind the end")
  func hostile() async throws {
    let plain = try Self.cleaner.clean(await Fixtures.bytes("kind-rgb.png")).bytes
    let word = Array("SECRET-WORD".utf8)
    // Of the standard, of its extensions, of an animation, and of nobody.
    let names = [
      "tEXt", "zTXt", "iTXt", "tIME", "pHYs", "sBIT", "bKGD", "hIST", "sPLT", "oFFs", "sCAL", "pCAL", "gIFg",
      "caBX", "acTL", "fcTL", "fdAT", "vpAg", "zzzz",
    ]
    var file = PNGParts(plain)
    file.cutData { [Array($0.prefix(20)), [], Array($0.dropFirst(20))] }
    let bare = file.bytes
    for place in ["IDAT", "IEND"] { file.insert(names.map { PNGParts.Chunk($0, word) }, before: place) }
    file.insert([PNGParts.Chunk("PLTE", word + [0])], before: "IDAT")
    file.chunks[file.chunks.count - 1] = PNGParts.Chunk("IEND", word)
    file.trailing = word
    let between = try #require(file.names.lastIndex(of: "IDAT"))
    file.chunks.insert(PNGParts.Chunk("fdAT", word), at: between)
    #expect(try Self.cleaner.clean(file.bytes).bytes == bare)
  }

  @Test("keeps its data chunks as they are cut")
  func pieces() async throws {
    var file = PNGParts(try Self.cleaner.clean(await Fixtures.bytes("kind-palette.png")).bytes)
    file.cutData { content in content.map { [$0] } + [[]] }
    #expect(try Self.cleaner.clean(file.bytes).bytes == file.bytes)
  }

  @Test("becomes a JPEG where something hides behind its samples or in its palette")
  func hidden() async throws {
    let plain = try Self.cleaner.clean(await Fixtures.bytes("kind-one-bit.png")).bytes
    let word = Array("SECRET-WORD!".utf8)
    var behind = PNGParts(plain)
    behind.insert([PNGParts.Chunk("IDAT", word)], before: "IEND")
    // One bit chooses between two colours, and the palette has more.
    var palette = PNGParts(plain)
    var header = palette.chunks[0].content
    header[9] = 3
    palette.chunks[0] = PNGParts.Chunk("IHDR", header)
    let colours: [UInt8] = [0, 0, 0, 255, 255, 255]
    palette.insert([PNGParts.Chunk("PLTE", colours)], before: "IDAT")
    #expect(try Self.cleaner.clean(palette.bytes).bytes == palette.bytes)
    palette.chunks[1] = PNGParts.Chunk("PLTE", colours + word)
    // In the chunk of the samples itself.
    var within = PNGParts(plain)
    within.cutData { [$0 + word] }
    for file in [behind, palette, within] {
      let clean = try Self.cleaner.clean(file.bytes)
      #expect(clean.bytes.withUnsafeBytes { ImageFormat($0) } == .jpeg)
      #expect(!clean.bytes.contains(word))
    }
  }

  @Test("is decoded all the same: one that is damaged is refused")
  func damaged() async throws {
    let plain = PNGParts(try Self.cleaner.clean(await Fixtures.bytes("photo-lossless.png")).bytes)
    var cut = plain
    cut.cutData { [Array($0.dropLast(40))] }
    var broken = plain
    broken.cutData { content in
      var content = content
      for at in stride(from: content.count / 2, to: content.count, by: 7) { content[at] ^= 0xA5 }
      return [content]
    }
    for file in [cut, broken] {
      let refusal = try #require(throws: ImageRefusal.self) { try Self.cleaner.clean(file.bytes) }
      #expect(refusal.code == .damaged)
    }
  }
}

extension Picture {
  /// Decodes a PNG without transparency; its colours are taken as they are.
  fileprivate init(png: [UInt8]) throws {
    self = try png.withUnsafeBytes { bytes in
      Picture(try PNGDecoder.decode(bytes, PNGStructure(bytes, limits: ImageLimits())))
    }
  }
}
