import Testing

@testable import Images

@Suite("Nothing but the picture is left")
struct MetadataTests {
  @Test(
    "A clean picture has only a JFIF header, tables, one frame and its scans", arguments: Fixtures.accepted)
  func segments(name: String) async throws {
    let clean = try await ImageCleaner().clean(Fixtures.bytes(name))
    let parts = JPEGParts(clean.bytes)
    #expect(!parts.isMalformed)
    #expect(parts.trailing == 0)
    #expect(parts.segments.first?.marker == 0xE0)
    let header = try #require(parts.segments.first?.content)
    // Name, version, density of 5 bytes, and a preview of no width and no height.
    #expect(header.count == 14)
    #expect(header.starts(with: Array("JFIF\0".utf8)))
    #expect(header.suffix(2) == [0, 0])
    let allowed: Set<UInt8> = [0xDB, 0xC0, 0xC1, 0xC4, 0xDD, 0xDA]
    for segment in parts.segments.dropFirst() { #expect(allowed.contains(segment.marker)) }
  }

  @Test("Every kind of metadata is found before and gone after", arguments: ["metadata.jpg", "metadata.png"])
  func words(name: String) async throws {
    let before = try await Fixtures.bytes(name)
    let clean = try ImageCleaner().clean(before)
    let words = try await Fixtures.metadataWords()
    let found = words.filter { before.contains(Array($0.utf8)) }
    // PNG has no IPTC and no profile here, and one text is compressed; JPEG has all but PNG's text.
    #expect(found.count == (name.hasSuffix("jpg") ? words.count - 1 : words.count - 3))
    for word in words { #expect(!clean.bytes.contains(Array(word.utf8)), "\(word)") }
    #expect(clean.changes.metadataBytesRemoved > 400)
  }

  @Test("A phone's EXIF goes from pictures of every orientation", arguments: 1...8)
  func turned(number: Int) async throws {
    let before = try await Fixtures.bytes("turn-420-\(number).jpg")
    #expect(before.contains(Array("DATUM-WORD".utf8)))
    let clean = try ImageCleaner().clean(before)
    for word in try await Fixtures.metadataWords() { #expect(!clean.bytes.contains(Array(word.utf8))) }
  }

  @Test("The removed bytes are counted: segments, and what follows the end")
  func counted() async throws {
    let plain = try await Fixtures.bytes("photo.jpg")
    #expect(try ImageCleaner().clean(plain).changes.metadataBytesRemoved == 0)
    #expect(try ImageCleaner().clean(plain + [1, 2, 3]).changes.metadataBytesRemoved == 3)
    let comment: [UInt8] = [0xFF, 0xFE, 0, 7] + Array("12345".utf8)
    let commented = plain.prefix(2) + comment + plain.dropFirst(2)
    #expect(try ImageCleaner().clean(Array(commented)).changes.metadataBytesRemoved == 9)
  }

  @Test("A second picture behind the first, as multi-picture files have, is left behind")
  func secondPicture() async throws {
    let first = try await Fixtures.bytes("photo.jpg")
    let second = try await Fixtures.bytes("turn-420-1.jpg")
    let both = try ImageCleaner().clean(first + second)
    #expect(both.bytes == (try ImageCleaner().clean(first).bytes))
    #expect(both.changes.metadataBytesRemoved == second.count)
  }
}
