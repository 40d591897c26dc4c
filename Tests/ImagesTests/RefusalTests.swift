import Testing

@testable import Images

@Suite("A refusal names what the file is and what to do")
struct RefusalTests {
  struct Foreign: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    var testDescription: String { name }

    init(_ name: String, _ text: String, then more: [UInt8] = []) {
      self.name = name
      bytes = Array(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }) + more
    }
  }

  static let foreign = [
    Foreign("HEIC", "\0\0\0\u{18}ftypheic\0\0\0\0mif1heic"),
    Foreign("HEIC", "\0\0\0\u{18}ftypmif1\0\0\0\0mif1heic"),
    Foreign("HEIC", "\0\0\0\u{18}ftyphevc\0\0\0\0"),
    Foreign("HEIF", "\0\0\0\u{14}ftypmif1\0\0\0\0mif1"),
    Foreign("AVIF", "\0\0\0\u{1C}ftypavif\0\0\0\0avifmif1miaf"),
    Foreign("AVIF", "\0\0\0\u{18}ftypmif1\0\0\0\0mif1avif"),
    Foreign("video", "\0\0\0\u{18}ftypisom\0\0\0\0mp41avc1"),
    Foreign("video", "\0\0\0\u{14}ftypqt  \0\0\0\0qt  "),
    Foreign("WebP", "RIFF\u{24}\0\0\0WEBPVP8 "),
    Foreign("video", "RIFF\u{24}\0\0\0AVI LIST"),
    Foreign("GIF", "GIF89a\u{01}\0\u{01}\0"), Foreign("GIF", "GIF87a\u{01}\0\u{01}\0"),
    Foreign("TIFF", "II*\0\u{08}\0\0\0"), Foreign("TIFF", "MM\0*\0\0\0\u{08}"),
    Foreign("BMP", "BM\u{36}\0\0\0\0\0\0\0"), Foreign("ICO", "\0\0\u{01}\0\u{01}\0"),
    Foreign("Photoshop", "8BPS\0\u{01}"), Foreign("PDF", "%PDF-1.7\n%\u{E2}\u{E3}"),
    Foreign("ZIP", "PK\u{03}\u{04}\u{14}\0"), Foreign("JPEG XL", "\u{FF}\u{0A}\u{FA}\u{7F}"),
    Foreign("JPEG XL", "\0\0\0\u{0C}JXL \u{0D}\u{0A}\u{87}\u{0A}"),
    Foreign("JPEG 2000", "\0\0\0\u{0C}jP  \u{0D}\u{0A}\u{87}\u{0A}"),
    Foreign("DICOM", String(repeating: "\0", count: 128) + "DICM\u{02}\0"),
    Foreign("HTML", "\n <!DOCTYPE html><html><body>404"), Foreign("HTML", "<html lang='en'>"),
    Foreign("SVG", "<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>"),
    Foreign("SVG", "<svg/>"), Foreign("data URI", "data:image/jpeg;base64,/9j/4AAQ"),
    Foreign("text", "This is a note, not a picture.\r\n\tYes."), Foreign("text", "{\"error\": true}"),
    Foreign("text", "\u{FF}\u{FE}a\0b\0"), Foreign("text", "caf\u{C3}\u{A9}"),
    Foreign("text", String(repeating: "a", count: 1_023) + "\u{C3}\u{A9}"),
    Foreign("program", "\u{7F}ELF\u{02}\u{01}"), Foreign("gzip", "\u{1F}\u{8B}\u{08}\0"),
  ]

  @Test("A foreign format is named, whatever the file is called", arguments: foreign)
  func named(_ file: Foreign) throws {
    let refusal = try #require(throws: ImageRefusal.self) { try ImageCleaner().clean(file.bytes) }
    #expect(refusal.code == .unsupportedFormat)
    #expect(refusal.detectedFormat == file.name)
    #expect(refusal.message.hasPrefix("The file is a") || refusal.message.hasPrefix("The file is text"))
    #expect(refusal.message.contains("Only JPEG and PNG pictures are accepted."))
  }

  @Test("Any beginning of a foreign file is refused without a crash", arguments: foreign)
  func beginnings(_ file: Foreign) {
    for length in 0..<file.bytes.count {
      #expect(throws: ImageRefusal.self) { try ImageCleaner().clean(Array(file.bytes.prefix(length))) }
    }
  }

  @Test("An unknown file is said to be unknown")
  func unknown() throws {
    let refusal = try #require(throws: ImageRefusal.self) { try ImageCleaner().clean([0, 0, 0, 0, 1, 2]) }
    #expect(refusal.code == .unsupportedFormat)
    #expect(refusal.detectedFormat == nil)
  }

  @Test("An empty file is said to be empty")
  func empty() throws {
    let refusal = try #require(throws: ImageRefusal.self) { try ImageCleaner().clean([]) }
    #expect(refusal.code == .empty)
    #expect(
      refusal.message == "The file is empty. Check that it was saved or copied whole, and submit it again.")
  }

  @Test("Rare kinds of JPEG are named", arguments: [UInt8(0xC3), 0xC5, 0xC7, 0xCB, 0xCF])
  func rareKinds(frame: UInt8) async throws {
    var file = try await Fixtures.bytes("photo.jpg")
    let at = try #require(file.frameHeader)
    file[at + 1] = frame
    let refusal = try #require(throws: ImageRefusal.self) { try ImageCleaner().clean(file) }
    #expect(refusal.code == .unsupportedVariant)
  }

  @Test("A kind of JPEG or PNG that is not read is named, and not called damaged")
  func unreadKinds() async throws {
    let photo = try await Fixtures.bytes("photo.jpg")
    let at = try #require(photo.frameHeader)
    var late = photo  // The height comes behind the first scan.
    late.replaceSubrange(at + 5..<at + 7, with: [0, 0])
    var successive = photo
    successive[at + 1] = 0xF7
    var hierarchical = photo
    hierarchical.insert(contentsOf: [0xFF, 0xDE, 0, 11, 8, 0, 120, 0, 160, 1, 1, 0x11, 0], at: 2)
    var fractional = photo
    fractional.replaceSubrange(at + 11..<at + 12, with: [0x31])
    fractional.replaceSubrange(at + 14..<at + 15, with: [0x22])
    var two = photo
    two.replaceSubrange(at + 2..<at + 10, with: [0, 14, 8, 0, 120, 0, 160, 2])
    two.removeSubrange(at + 16..<at + 19)
    var parts = PNGParts(try await Fixtures.bytes("kind-rgb.png"))
    parts.insert([PNGParts.Chunk("CgBI", [0x50, 0, 0x20, 2])], before: "IHDR")
    for (name, file) in [
      ("DNL", late), ("JPEG-LS", successive), ("hierarchical", hierarchical), ("sampling", fractional),
      ("2 kinds of samples", two), ("CgBI", parts.bytes),
    ] as [(String, [UInt8])] {
      let refusal = #expect(throws: ImageRefusal.self, "\(name)") { try ImageCleaner().clean(file) }
      #expect(refusal?.code == .unsupportedVariant, "\(name): \(refusal?.message ?? "")")
      #expect(refusal?.message.contains(name) == true)
    }
  }

  @Test("A JPEG of 12 bits a sample is refused as such")
  func twelveBits() async throws {
    var file = try await Fixtures.bytes("photo.jpg")
    let at = try #require(file.frameHeader)
    file[at + 4] = 12
    let refusal = try #require(throws: ImageRefusal.self) { try ImageCleaner().clean(file) }
    #expect(refusal.code == .unsupportedVariant)
    #expect(refusal.message.contains("12 bits a sample"))
  }

  @Test("The sentences say numbers as people read them")
  func sentences() {
    let refusal = ImageRefusal.fileTooLarge(bytes: 12_345_678, limit: 10_000_000)
    #expect(
      refusal.message == "The file has 12,345,678 bytes; at most 10,000,000 are accepted. Save the picture "
        + "smaller or with a lower JPEG quality, and submit it again.")
    #expect(refusal.description.hasPrefix("file_too_large: The file has"))
    #expect(refusal.code.rawValue == "file_too_large")
  }
}

extension [UInt8] {
  /// The offset of the first frame header's marker.
  fileprivate var frameHeader: Int? {
    indices.dropLast().first { self[$0] == 0xFF && [0xC0, 0xC1, 0xC2].contains(self[$0 + 1]) }
  }
}
