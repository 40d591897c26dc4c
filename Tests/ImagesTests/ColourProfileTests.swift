import Clcms2
import Foundation
import Testing

@testable import Images

@Suite("Colours of a profile become those of sRGB")
struct ColourProfileTests {
  // MARK: - Against an independent reference

  @Test("A picture is converted as formulas in floats convert it", arguments: Fixtures.colours)
  func converted(name: String) async throws {
    let reference = try await Reference(name)
    let difference = try reference.difference(from: Self.converted(await Fixtures.bytes(name)))
    #expect(difference.mean <= 0.5, "\(name): \(difference)")
    #expect(difference.almostGreatest <= 2, "\(name): \(difference)")
  }

  @Test("What comes out looks like the reference at full size", arguments: Fixtures.colours)
  func encoded(name: String) async throws {
    let clean = try await ImageCleaner().clean(Fixtures.bytes(name))
    let difference = try await Reference(name).difference(from: Picture(jpeg: clean.bytes))
    #expect(difference.mean <= 1, "\(name): \(difference)")
    #expect(difference.almostGreatest <= 5, "\(name): \(difference)")
    let isSRGB = ["none", "-srgb"].contains { name.contains($0) }
    #expect(clean.changes.converted == !isSRGB)
    #expect(clean.changes.reencoded == !(isSRGB && name.hasSuffix("jpg")))
  }

  @Test("Without a conversion the reference would be missed by far", arguments: ["p3", "adobe", "prophoto"])
  func unconverted(space: String) async throws {
    let pixels = try Picture(jpeg: await Fixtures.bytes("colour-\(space)-jpeg.jpg"))
    #expect(try await Reference("colour-\(space)-jpeg.jpg").difference(from: pixels).mean > 1.5)
  }

  @Test("An sRGB profile is recognised by its colours, and costs no pixel")
  func standard() async throws {
    let plain = try await ImageCleaner().clean(Fixtures.bytes("colour-none-jpeg.jpg"))
    let tagged = try await ImageCleaner().clean(Fixtures.bytes("colour-srgb-jpeg.jpg"))
    #expect(tagged.bytes == plain.bytes)
    // A grey JPEG under a profile of three colours is read as three that are alike.
    let grey = try await Fixtures.bytes("grey.jpg")
    let profile = try await Fixtures.bytes("profile-srgb.icc")
    #expect(
      try ImageCleaner().clean(grey.with(profile: [profile])).bytes == ImageCleaner().clean(grey).bytes)
  }

  // MARK: - The profile's segments

  @Test("A profile in several segments is put together by their numbers")
  func segments() async throws {
    let profile = try await Fixtures.bytes("profile-p3.icc")
    let plain = try await Fixtures.bytes("colour-none-jpeg.jpg")
    let whole = try ImageCleaner().clean(plain.with(profile: [profile]))
    let parts = [Array(profile.prefix(200)), Array(profile[200..<300]), Array(profile.dropFirst(300))]
    #expect(try ImageCleaner().clean(plain.with(profile: parts)).bytes == whole.bytes)
    #expect(try ImageCleaner().clean(plain.with(profile: parts, order: [3, 1, 2])).bytes == whole.bytes)
    #expect(whole.changes.converted)
  }

  @Test("A part that is missing, there twice or wrongly counted is a refusal", arguments: 0..<5)
  func wrongSegments(kind: Int) async throws {
    let profile = try await Fixtures.bytes("profile-p3.icc")
    let plain = try await Fixtures.bytes("colour-none-jpeg.jpg")
    let parts = [Array(profile.prefix(200)), Array(profile.dropFirst(200))]
    let file =
      switch kind {
      case 0: plain.with(profile: parts, order: [1])
      case 1: plain.with(profile: parts, order: [1, 2, 2])
      case 2: plain.with(profile: parts, order: [1, 2], count: 3)
      case 3: plain.with(profile: parts, order: [1, 2], count: 1)
      default: plain.with(segments: [Array("ICC_PROFILE\0".utf8) + [1]])
      }
    try expectRefusal(file)
  }

  @Test("A profile of more than a mebibyte is a refusal, of exactly one it is not")
  func size() async throws {
    let profile = try await Fixtures.bytes("profile-p3.icc")
    let plain = try await Fixtures.bytes("colour-none-jpeg.jpg")
    let most = profile + [UInt8](repeating: 0, count: ColourProfile.maxBytes - profile.count)
    let cut = { (bytes: [UInt8]) in
      stride(from: 0, to: bytes.count, by: 60_000).map { Array(bytes[$0..<min($0 + 60_000, bytes.count)]) }
    }
    #expect(try ImageCleaner().clean(plain.with(profile: cut(most))).changes.converted)
    try expectRefusal(plain.with(profile: cut(most + [0])))
    try await expectRefusal(png([chunk("iCCP", try Self.packed(most + [0]))]))
    #expect(try ImageCleaner().clean(await png([chunk("iCCP", Self.packed(most))])).changes.converted)
  }

  // MARK: - Refusals

  @Test("A profile that cannot be read is a refusal")
  func unreadable() async throws {
    let plain = try await Fixtures.bytes("colour-none-jpeg.jpg")
    let profile = try await Fixtures.bytes("profile-p3.icc")
    for content in [[], [0], Array("PROFILE".utf8), Array(profile.prefix(131)), Array(profile.prefix(250))] {
      try expectRefusal(plain.with(profile: [content]))
      try await expectRefusal(png([chunk("iCCP", try Self.packed(content))]))
    }
  }

  @Test("A profile for another kind of picture is a refusal")
  func otherKind() async throws {
    let inks = try await Fixtures.bytes("profile-inks.icc")
    let colours = try await Fixtures.bytes("profile-p3.icc")
    let grey = try await Fixtures.bytes("profile-grey.icc")
    for (name, profile) in [
      ("photo.jpg", inks), ("photo.jpg", grey), ("cmyk.jpg", colours), ("cmyk.jpg", grey),
      ("grey.jpg", inks),
    ] {
      try await expectRefusal(Fixtures.bytes(name).with(profile: [profile]))
    }
    try await expectRefusal(png([chunk("iCCP", try Self.packed(grey))]))
    // A profile of an effect, not of a device.
    var effect = colours
    effect.replaceSubrange(12..<16, with: Array("abst".utf8))
    try await expectRefusal(Fixtures.bytes("photo.jpg").with(profile: [effect]))
  }

  @Test(
    "What a PNG says of its colours is read or refused",
    arguments: [
      ("cICP", [9, 16, 0, 1]),  // HDR: PQ
      ("cICP", [9, 18, 0, 1]),  // HDR: HLG
      ("cICP", [12, 13, 1, 1]),  // a matrix
      ("cICP", [12, 13, 0, 0]),  // not the full range
      ("cICP", [1, 13, 0]),
      ("cICP", [2, 2, 1, 1]), ("cICP", [2, 2, 0, 0]), ("cICP", [9, 2, 0, 1]), ("cICP", [1, 2, 0, 0]),
      ("gAMA", [0, 0, 0, 0]), ("gAMA", [255, 255, 255, 255]), ("gAMA", [0, 0, 177]),
      ("cHRM", [UInt8](repeating: 0, count: 32)), ("cHRM", [UInt8](repeating: 0, count: 31)),
      ("iCCP", [0, 0]), ("iCCP", Array("name".utf8)), ("iCCP", [0x61, 0, 1, 2, 3]),
    ] as [(String, [UInt8])])
  func chunks(name: String, content: [UInt8]) async throws {
    try await expectRefusal(png([chunk(name, content)]))
  }

  @Test("Colours of a cICP chunk that specifies none are those of the next chunk that counts")
  func unspecified() async throws {
    for content in [[2, 2, 0, 1], [2, 2, 2, 1]] as [[UInt8]] {
      let none = chunk("cICP", content)
      let plain = try await Fixtures.bytes("kind-rgb.png")
      #expect(try ImageCleaner().clean(await png([none])).bytes == ImageCleaner().clean(plain).bytes)
      let gamma = chunk("gAMA", Self.big(100_000))
      let linear = try ImageCleaner().clean(await png([gamma]))
      #expect(linear.changes.converted)
      #expect(try ImageCleaner().clean(await png([none, gamma])).bytes == linear.bytes)
    }
  }

  @Test("Colour chunks behind the picture's data are none")
  func lateChunks() async throws {
    let file = try await Fixtures.bytes("colour-srgb-png.png")
    let end = file.count - 12
    let late = Array(file.prefix(end)) + chunk("gAMA", [0, 0, 0, 0]) + Array(file.dropFirst(end))
    #expect(try ImageCleaner().clean(late).bytes == ImageCleaner().clean(file).bytes)
  }

  @Test("Tables in floating point are left out, the rest of the profile is not touched")
  func floatingTables() async throws {
    let profile = try await Fixtures.bytes("profile-p3.icc")
    #expect(ICCProfile.withoutFloatingTables(profile) == profile)
    for tag in ["D2B0", "D2B1", "D2B2", "D2B3"] {
      var floating = profile
      floating.replaceSubrange(144..<148, with: Array(tag.utf8))
      let left = ICCProfile.withoutFloatingTables(floating)
      #expect(Array(left[144..<148]) == Array("none".utf8))
      #expect(Array(left.prefix(144)) == Array(profile.prefix(144)))
      #expect(Array(left.dropFirst(148)) == Array(profile.dropFirst(148)))
    }
  }

  @Test("With bits flipped, a profile is applied or refused", arguments: [("p3", 200), ("inks", 20)])
  func flipped(name: String, times: Int) async throws {
    let profile = try await Fixtures.bytes("profile-\(name).icc")
    let plain = try await Fixtures.bytes(name == "inks" ? "cmyk.jpg" : "colour-none-jpeg.jpg")
    var chance = SeededGenerator(seed: 42)
    var refused = 0
    for _ in 0..<times {
      var changed = profile
      // Its head and its tags, where a change means most.
      let at = Int.random(in: 0..<min(600, profile.count), using: &chance)
      changed[at] ^= 1 << UInt8.random(in: 0..<8, using: &chance)
      do throws(ImageRefusal) {
        let clean = try ImageCleaner().clean(plain.with(profile: [changed]))
        #expect(clean.width > 0)
      } catch {
        #expect(error.code == .colourProfile)
        refused += 1
      }
    }
    #expect(refused > 0)
  }

  // MARK: - Support

  /// The picture in sRGB before it is encoded.
  private static func converted(_ file: [UInt8]) throws -> Picture {
    try file.withUnsafeBytes { bytes in
      guard ImageFormat(bytes) == .jpeg else {
        let structure = try PNGStructure(bytes, limits: ImageLimits())
        let conversion = try structure.colours.profile(bytes)?
          .conversion(structure.layout, isGrey: structure.isGrey)
        var pixels = try PNGDecoder.decode(bytes, structure)
        pixels.finishColours(conversion)
        return Picture(pixels)
      }
      let handle = try TurboHandle(.transform)
      let header = try JPEGHeader(bytes, handle)
      let conversion = try JPEGStructure(bytes).profile.profile(bytes)
        .flatMap { try ColourProfile(icc: $0).conversion(header.layout, isGrey: header.colours == .grey) }
      var pixels = try JPEGDecoder.decode(bytes, header, handle)
      pixels.finishColours(conversion)
      return Picture(pixels)
    }
  }

  private func expectRefusal(_ file: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) throws {
    let refusal = try #require(throws: ImageRefusal.self, sourceLocation: sourceLocation) {
      try ImageCleaner().clean(file)
    }
    #expect(refusal.code == .colourProfile, sourceLocation: sourceLocation)
    #expect(refusal.code.rawValue == "colour_profile")
    #expect(refusal.message.hasPrefix("The picture's colours are not known: "))
  }

  /// A PNG with chunks behind its header.
  private func png(_ chunks: [[UInt8]]) async throws -> [UInt8] {
    let plain = try await Fixtures.bytes("kind-rgb.png")
    return Array(plain.prefix(33)) + chunks.joined() + Array(plain.dropFirst(33))
  }

  private func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] { PNGParts.Chunk(name, content).bytes }

  /// The content of an iCCP chunk: the profile in stored blocks of zlib.
  private static func packed(_ profile: [UInt8]) throws -> [UInt8] {
    var stream: [UInt8] = [0x78, 0x01]
    var rest = profile[...]
    repeat {
      let block = rest.prefix(65_535)
      rest = rest.dropFirst(block.count)
      let size = UInt16(block.count)
      stream.append(rest.isEmpty ? 1 : 0)
      for number in [size, ~size] { stream += [UInt8(number & 0xFF), UInt8(number >> 8)] }
      stream += block
    } while !rest.isEmpty
    var (low, high): (UInt32, UInt32) = (1, 0)
    for byte in profile {
      low = (low + UInt32(byte)) % 65_521
      high = (high + low) % 65_521
    }
    return Array("a name\0\0".utf8) + stream + big(high << 16 | low)
  }

  private static func big(_ number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }
}

extension [UInt8] {
  /// A JPEG with a profile in segments, in the given order and with the given count.
  fileprivate func with(profile parts: [[UInt8]], order: [Int]? = nil, count: Int? = nil) -> [UInt8] {
    with(
      segments: (order ?? Array<Int>(1...parts.count)).map { number in
        Array("ICC_PROFILE\0".utf8) + [UInt8(number), UInt8(count ?? parts.count)] + parts[number - 1]
      })
  }

  /// A JPEG with APP2 segments.
  fileprivate func with(segments: [[UInt8]]) -> [UInt8] {
    let marked = segments.map { content in
      [0xFF, 0xE2, UInt8((content.count + 2) >> 8), UInt8((content.count + 2) & 0xFF)] + content
    }
    return Array(prefix(2) + marked.joined() + dropFirst(2))
  }
}

/// What a picture must look like, in sRGB with 16 bits a sample.
private struct Reference {
  private let samples: [Double]

  init(_ name: String) async throws {
    let file = try await Fixtures.bytes(String(name.prefix { $0 != "." }) + ".ppm")
    let header = Array("P6\n96 64\n65535\n".utf8)
    try #require(file.starts(with: header) && file.count == header.count + 96 * 64 * 6)
    samples = stride(from: header.count, to: file.count, by: 2).map {
      Double(Int(file[$0]) << 8 | Int(file[$0 + 1])) / 65_535
    }
  }

  /// CIEDE2000: the mean, and what 99.9 % of the pixels are within.
  func difference(from picture: Picture) throws -> (mean: Double, almostGreatest: Double) {
    try #require(picture.samples.count == samples.count)
    let differences = stride(from: 0, to: samples.count, by: 3).map { at in
      var expected = lab(samples[at], samples[at + 1], samples[at + 2])
      let found = picture.samples[at..<at + 3].map { Double($0) / 255 }
      var actual = lab(found[0], found[1], found[2])
      return cmsCIE2000DeltaE(&expected, &actual, 1, 1, 1)
    }.sorted()
    return (differences.reduce(0, +) / Double(differences.count), differences[differences.count * 999 / 1000])
  }

  /// CIELAB under D65 of a colour of sRGB, by the formulas.
  private func lab(_ red: Double, _ green: Double, _ blue: Double) -> cmsCIELab {
    let light = [red, green, blue].map { value in
      value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }
    let rows = [
      [0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
      [0.0193339, 0.1191920, 0.9503041],
    ]
    let white = [0.95047, 1, 1.08883]
    let parts = zip(rows, white).map { row, white in
      let value = zip(row, light).reduce(0) { $0 + $1.0 * $1.1 } / white
      return value > 216 / 24_389 ? cbrt(value) : (24_389 / 27 * value + 16) / 116
    }
    return cmsCIELab(
      L: 116 * parts[1] - 16, a: 500 * (parts[0] - parts[1]), b: 200 * (parts[1] - parts[2]))
  }
}
