import Testing

@testable import Images

@Suite("Pictures come out upright")
struct OrientationTests {
  @Test(
    "Each orientation of each kind looks like the upright picture",
    arguments: ["444.jpg", "422.jpg", "420.jpg", "odd.jpg", "progressive.jpg", "grey.jpg", "png.png"], 1...8)
  func upright(kind: String, number: Int) async throws {
    let name = "turn-" + kind.split(separator: ".").joined(separator: "-\(number).")
    let clean = try await ImageCleaner().clean(Fixtures.bytes(name))
    let expected = try await Fixtures.expected(name)
    let picture = try Picture(jpeg: clean.bytes)
    // The corners differ by far more than this: any other orientation is at 30 and above.
    #expect(try #require(picture.difference(from: expected)) < 6)
    #expect(clean.width == expected.width)
    #expect(clean.height == expected.height)
    #expect(clean.changes.orientation == number)
    #expect(clean.changes.turned == (number != 1))
    #expect(!clean.changes.scaled)
  }

  @Test(
    "A picture of whole blocks is turned without loss", arguments: ["444", "422", "420", "progressive"], 1...8
  )
  func lossless(kind: String, number: Int) async throws {
    let clean = try await ImageCleaner().clean(Fixtures.bytes("turn-\(kind)-\(number).jpg"))
    #expect(!clean.changes.reencoded)
  }

  @Test(
    "A picture that ends within a block is encoded anew only where the turn would move that edge",
    arguments: ["odd", "grey"], 1...8)
  func partBlocks(kind: String, number: Int) async throws {
    let clean = try await ImageCleaner().clean(Fixtures.bytes("turn-\(kind)-\(number).jpg"))
    // As it is, or exchanged along the diagonal from the first corner: the odd edges stay last.
    #expect(clean.changes.reencoded == ![1, 5].contains(number))
  }

  @Test(
    "4:1:1 is not turned on its side without loss, and keeps its place otherwise",
    arguments: Orientation.allCases)
  func quarterSampling(orientation: Orientation) {
    let header = JPEGHeader(width: 64, height: 64, colours: .yCbCr, subsampling: .quarterAcross)
    #expect(header.canBeTurnedWithoutLoss(orientation) == !orientation.exchangesSides)
  }

  @Test(
    "Whole blocks are as wide and high as the sampling says",
    arguments: zip(
      [Subsampling.none, .halfAcross, .halfBoth, .grey, .halfDown],
      [(8, 8), (16, 8), (16, 16), (8, 8), (8, 16)]))
  func blocks(sampling: Subsampling, block: (width: Int, height: Int)) {
    let turns = { (width: Int, height: Int) in
      JPEGHeader(width: width, height: height, colours: .yCbCr, subsampling: sampling)
        .canBeTurnedWithoutLoss(.halfTurn)
    }
    #expect(turns(block.width * 3, block.height * 5))
    #expect(!turns(block.width * 3 + block.width / 2, block.height * 5))
    #expect(!turns(block.width * 3, block.height * 5 + block.height / 2))
  }

  @Test("The EXIF tag is read in both byte orders", arguments: [false, true], 1...8)
  func byteOrders(bigEndian: Bool, number: Int) {
    #expect(Orientation(tiff: tiff(bigEndian: bigEndian, value: number)).rawValue == number)
  }

  @Test("An impossible orientation counts as upright", arguments: [0, 9, 255, 65_535])
  func impossible(value: Int) {
    #expect(Orientation(tiff: tiff(bigEndian: true, value: value)) == .upright)
  }

  @Test("An orientation stored as any whole number is read", arguments: [1, 3, 4, 6, 8, 9], [false, true])
  func wholeNumbers(type: Int, bigEndian: Bool) {
    let block = tiff(bigEndian: bigEndian, type: type, value: 6)
    #expect(Orientation(tiff: block) == .quarterTurnRight)
  }

  @Test("An orientation that is no whole number counts as upright", arguments: [2, 7, 99])
  func otherTypes(type: Int) {
    #expect(Orientation(tiff: tiff(bigEndian: false, type: type, value: 6)) == .upright)
  }

  /// What exiftool reads of the same files: the first block that has an orientation, whatever it says.
  @Test(
    "The first EXIF block with an orientation counts",
    arguments: [
      ([nil, 6], .quarterTurnRight), ([6, 3], .quarterTurnRight), ([3, nil], .halfTurn), ([0, 6], .upright),
      ([9, 6], .upright), ([6, 3, 8], .quarterTurnRight),
    ] as [([Int?], Orientation)])
  func severalBlocks(values: [Int?], expected: Orientation) async throws {
    let blocks = values.map { value in
      value.map { exif(tiff(bigEndian: true, value: $0)) } ?? exif(Array("not TIFF".utf8))
    }
    let file = try await Fixtures.bytes("photo.jpg")
    let clean = try ImageCleaner().clean(Array(file.prefix(2)) + blocks.joined() + file.dropFirst(2))
    #expect(clean.changes.orientation == expected.rawValue)
  }

  @Test("A PNG's EXIF chunk that begins as a JPEG's segment does is read too", arguments: 1...8)
  func prefixed(number: Int) async throws {
    var parts = PNGParts(try await Fixtures.bytes("turn-png-\(number).png"))
    let plain = try ImageCleaner().clean(parts.bytes)
    let at = try #require(parts.names.firstIndex(of: "eXIf"))
    parts.chunks[at] = PNGParts.Chunk("eXIf", Array("Exif\0\0".utf8) + parts.chunks[at].content)
    let clean = try ImageCleaner().clean(parts.bytes)
    #expect(clean.changes.orientation == number && clean.bytes == plain.bytes)
  }

  @Test("An EXIF block behind the first scan is ignored")
  func afterScan() async throws {
    let file = try await Fixtures.bytes("photo.jpg")
    let clean = try ImageCleaner().clean(
      file.dropLast(2) + exif(tiff(bigEndian: true, value: 6)) + [0xFF, 0xD9])
    #expect(clean.changes.orientation == 1)
  }

  /// An APP1 segment.
  private func exif(_ tiff: [UInt8]) -> [UInt8] {
    let content = Array("Exif\0\0".utf8) + tiff
    return [0xFF, 0xE1, 0, UInt8(content.count + 2)] + content
  }

  @Test("An EXIF block cut off at any byte is no crash and never another orientation")
  func cutOff() {
    let whole = tiff(bigEndian: true, value: 6)
    for length in 0..<whole.count {
      let read = Orientation(tiff: Array(whole.prefix(length)))
      #expect(read == .upright || read == .quarterTurnRight)
    }
  }

  @Test("Pixels are turned as the definition of each orientation says", arguments: Orientation.allCases)
  func pixels(orientation: Orientation) throws {
    // A, B, C over D, E, F, one letter a pixel.
    let stored = try PixelBuffer(PixelSize(3, 2))
    for (index, letter) in "ABCDEF".utf8.enumerated() {
      for sample in 0..<3 { stored.start[index * 3 + sample] = letter }
    }
    let expected =
      switch orientation {
      case .upright: "ABCDEF"
      case .mirror: "CBAFED"
      case .halfTurn: "FEDCBA"
      case .flip: "DEFABC"
      case .transpose: "ADBECF"
      case .quarterTurnRight: "DAEBFC"
      case .transverse: "FCEBDA"
      case .quarterTurnLeft: "CFBEAD"
      }
    let turned = try stored.finished(PixelSize(3, 2), orientation)
    #expect(turned.size == (orientation.exchangesSides ? PixelSize(2, 3) : PixelSize(3, 2)))
    let letters = (0..<6).map { turned.start[$0 * 3 + 1] }
    #expect(String(decoding: letters, as: UTF8.self) == expected)
  }

  /// A TIFF block with one entry, the orientation.
  private func tiff(bigEndian: Bool, type: Int = 3, value: Int) -> [UInt8] {
    func short(_ number: Int) -> [UInt8] {
      let bytes = [UInt8(number >> 8), UInt8(number & 0xFF)]
      return bigEndian ? bytes : bytes.reversed()
    }
    func long(_ number: Int) -> [UInt8] {
      bigEndian
        ? short(number >> 16) + short(number & 0xFFFF) : short(number & 0xFFFF) + short(number >> 16)
    }
    let mark = Array((bigEndian ? "MM" : "II").utf8)
    let content =
      switch type {
      case 1, 6: [UInt8(value), 0, 0, 0]
      case 4, 9: long(value)
      default: short(value) + short(0)
      }
    let entry = short(0x0112) + short(type) + long(1) + content
    return mark + short(42) + long(8) + short(1) + entry + long(0)
  }
}
