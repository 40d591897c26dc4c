import Czlib

/// The chunks of a PNG that say what its samples stand for. They are read here and taken out before libpng sees
/// the file: it would apply some of them by itself, and knows no cICP.
struct PNGColours {
  private var codePoints: Range<Int>?
  private var embedded: Range<Int>?
  private var standard: Range<Int>?
  private var gamma: Range<Int>?
  private var chromaticities: Range<Int>?

  /// Notes a chunk that stands before the picture's data; the first of each kind counts.
  mutating func note(_ name: String, _ content: Range<Int>) {
    switch name {
    case "cICP": codePoints = codePoints ?? content
    case "iCCP": embedded = embedded ?? content
    case "sRGB": standard = standard ?? content
    case "gAMA": gamma = gamma ?? content
    case "cHRM": chromaticities = chromaticities ?? content
    default: break
    }
  }

  /// The profile that the chunks amount to, nil for sRGB or where nothing is said. One chunk counts, in the order
  /// of the PNG specification: cICP, iCCP, sRGB, then gAMA with cHRM.
  func profile(_ bytes: UnsafeRawBufferPointer) throws(ImageRefusal) -> ColourProfile? {
    if let codePoints, !Self.areUnspecified(bytes[codePoints]) {
      return try Self.profile(codePoints: bytes[codePoints])
    }
    if let embedded { return try ColourProfile(icc: try InflatedProfile.inflate(bytes[embedded])) }
    if standard != nil || (gamma == nil && chromaticities == nil) { return nil }
    return try ColourProfile(
      try chromaticities.map { content throws(ImageRefusal) in try Self.primaries(bytes[content]) } ?? .sRGB,
      try gamma.map { content throws(ImageRefusal) in try Self.curve(bytes[content]) } ?? .sRGB)
  }

  /// The code points of ITU-T H.273: primaries, curve, matrix, and whether the full range is used.
  private static func profile(codePoints: Slice<UnsafeRawBufferPointer>) throws(ImageRefusal)
    -> ColourProfile?
  {
    let points = Array(codePoints)
    guard points.count == 4 else { throw .colourProfile("its cICP chunk has a wrong length") }
    guard let primaries = primaries[points[0]], let curve = curves[points[1]], points[2...] == [0, 1] else {
      let numbers = points.map { "\($0)" }.joined(separator: ", ")
      throw .colourProfile("its colours are of a kind that is not read here (cICP \(numbers))")
    }
    return points[..<2] == [1, 13] ? nil : try ColourProfile(primaries, curve)
  }

  /// Those of BT.709, which are sRGB's, of BT.601 with 625 and with 525 lines, of BT.2020, and Display P3.
  private static let primaries: [UInt8: ColourPrimaries] = [
    1: .sRGB, 5: .bt601Of625, 6: .bt601Of525, 7: .bt601Of525, 9: .bt2020, 12: .displayP3,
  ]
  /// BT.709, BT.601 and BT.2020 with 10 and 12 bits have one curve.
  private static let curves: [UInt8: ToneCurve] = [1: .bt709, 6: .bt709, 13: .sRGB, 14: .bt709, 15: .bt709]

  /// Whether the code points say that nothing is known, as some programs write of a frame without a word on it.
  private static func areUnspecified(_ codePoints: Slice<UnsafeRawBufferPointer>) -> Bool {
    [[2, 2, 0, 1], [2, 2, 2, 1]].contains(Array(codePoints))
  }

  /// A gamma of 45455 says that samples are light to the power 0.45455.
  private static func curve(_ content: Slice<UnsafeRawBufferPointer>) throws(ImageRefusal) -> ToneCurve {
    guard let value = numbers(content, count: 1)?.first, (0.1...10).contains(value) else {
      throw .colourProfile("its gamma is impossible")
    }
    return .power(1 / value)
  }

  private static func primaries(_ content: Slice<UnsafeRawBufferPointer>) throws(ImageRefusal)
    -> ColourPrimaries
  {
    guard let values = numbers(content, count: 8) else {
      throw .colourProfile("its cHRM chunk has a wrong length")
    }
    let point = { (at: Int) in ColourPrimaries.Point(values[at], values[at + 1]) }
    return ColourPrimaries(white: point(0), red: point(2), green: point(4), blue: point(6))
  }

  /// Whole numbers that count hundred-thousandths.
  private static func numbers(_ content: Slice<UnsafeRawBufferPointer>, count: Int) -> [Double]? {
    guard content.count == count * 4 else { return nil }
    let bytes = Array(content)
    return stride(from: 0, to: bytes.count, by: 4).map { at in
      Double(bytes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) }) / 100_000
    }
  }
}

/// The ICC profile of an iCCP chunk: a name, a zero, the method 0, and the profile as a zlib stream.
enum InflatedProfile {
  static func inflate(_ content: Slice<UnsafeRawBufferPointer>) throws(ImageRefusal) -> [UInt8] {
    let bytes = Array(content)
    let longestName = 79
    guard let zero = bytes.prefix(longestName + 1).firstIndex(of: 0), zero + 2 < bytes.count,
      bytes[zero + 1] == 0
    else { throw unreadable }
    let packed = bytes[(zero + 2)...]
    // One more than is accepted, so that a larger one is not taken for a damaged one.
    let room = ColourProfile.maxBytes + 1
    var result: Int32 = Z_DATA_ERROR
    let profile = [UInt8](unsafeUninitializedCapacity: room) { profile, count in
      var length = UInt(room)
      result = packed.withUnsafeBufferPointer {
        uncompress(profile.baseAddress, &length, $0.baseAddress, UInt($0.count))
      }
      count = result == Z_OK ? Int(length) : 0
    }
    // What fills the room without reaching its end; a stream that is cut off leaves room.
    guard result != Z_BUF_ERROR, profile.count <= ColourProfile.maxBytes else { throw ColourProfile.tooLarge }
    guard result == Z_OK else { throw unreadable }
    return profile
  }

  private static let unreadable = ImageRefusal.colourProfile("its colour profile cannot be read")
}
