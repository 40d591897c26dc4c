import Cpng
import Czlib

/// Decodes a PNG of any kind to RGB or RGBA, by libpng's simplified interface: the classic one reports
/// errors by longjmp, which must not cross Swift frames. libpng's own limits (a million pixels a side,
/// 8 MB a chunk, 1,000 chunks kept) hold as well.
enum PNGDecoder {
  /// The picture as it is stored. Indexed, grey, 16-bit and interlaced pictures come out alike. libpng sees
  /// nothing of colours and applies none.
  static func decode(
    _ bytes: UnsafeRawBufferPointer, _ structure: PNGStructure
  ) throws(ImageRefusal) -> PixelBuffer {
    let picture = structure.pictureAlone(bytes)
    defer { picture.deallocate() }
    let reader = Reader()
    guard png_image_begin_read_from_memory(reader.image, picture.baseAddress, picture.count) != 0 else {
      throw reader.refusal
    }
    let size = structure.size
    guard Int(reader.image.pointee.width) == size.width, Int(reader.image.pointee.height) == size.height
    else { throw .damaged(.png, reason: "it has two headers that differ") }
    // libpng's simplified interface gives wrong rows of these, in some versions (1.6.39 as Debian 12 has it).
    if structure.isInterlaced, structure.depth == 16 { return try DeepInterlacedPNG.decode(bytes, structure) }
    // Without a word on its gamma a 16-bit picture is taken for sRGB, as every viewer does and as an
    // 8-bit one is, and not for linear light.
    reader.image.pointee.flags |= UInt32(PNG_IMAGE_FLAG_16BIT_sRGB)
    reader.image.pointee.format =
      UInt32(PNG_FORMAT_FLAG_COLOR) | (structure.layout == .rgba ? UInt32(PNG_FORMAT_FLAG_ALPHA) : 0)
    let pixels = try PixelBuffer(size, structure.layout)
    guard png_image_finish_read(reader.image, nil, pixels.start, 0, nil) != 0 else {
      throw reader.refusal
    }
    // A warning about an ancillary chunk says nothing of the picture. One about the picture's data does, but for data
    // that are left over when it is whole.
    guard !reader.message.hasPrefix("IDAT") || harmless.contains(reader.message) else { throw reader.refusal }
    return pixels
  }

  private static let harmless = ["IDAT: Too much image data", "IDAT: Extra compressed data"]
}

/// libpng's image record at a fixed address: between the calls libpng keeps a pointer to it.
private struct Reader: ~Copyable {
  let image: UnsafeMutablePointer<png_image>

  init() {
    image = .allocate(capacity: 1)
    image.initialize(to: png_image())
    image.pointee.version = UInt32(PNG_IMAGE_VERSION)
  }

  deinit {
    png_image_free(image)
    image.deallocate()
  }

  var message: String {
    withUnsafeBytes(of: image.pointee.message) { text in
      String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  var refusal: ImageRefusal {
    let message = message
    if message.contains("out of memory") || message.contains("insufficient memory") {
      return .notProcessed("memory is short")
    }
    return .damaged(.png, reason: "\"\(message)\"")
  }
}

/// Decodes an interlaced PNG of 16 bits a sample: seven pictures, each with every so many pixels of the whole one.
enum DeepInterlacedPNG {
  /// Where each part begins, and its steps across and down.
  private static let parts = [
    (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2),
  ]

  /// The picture as it is stored, with 8 bits a sample.
  static func decode(
    _ bytes: UnsafeRawBufferPointer, _ structure: PNGStructure
  ) throws(ImageRefusal) -> PixelBuffer {
    guard var data = structure.samples(bytes) else { throw .notProcessed("memory is short") }
    let pixels = try PixelBuffer(structure.size, structure.layout)
    let pixel = DeepPixel(structure, bytes)
    for (left, top, across, down) in parts {
      let columns = Array(stride(from: left, to: structure.size.width, by: across))
      guard !columns.isEmpty else { continue }
      var row = [UInt8](repeating: 0, count: 1 + columns.count * pixel.stored)
      var above = row
      for y in stride(from: top, to: structure.size.height, by: down) {
        guard row.withUnsafeMutableBufferPointer({ data.read(into: $0) }) == row.count else { throw tooFew }
        try unfilter(&row, above, pixel.stored)
        for (index, x) in columns.enumerated() {
          let place = (y * structure.size.width + x) * structure.layout.samples
          pixel.write(row[(1 + index * pixel.stored)...], to: pixels.start + place)
        }
        swap(&row, &above)
      }
    }
    // What is left over does not matter; that the checksum of all is right does.
    var rest = [UInt8](repeating: 0, count: 1)
    let isMore = rest.withUnsafeMutableBufferPointer { data.read(into: $0) } > 0
    guard isMore || data.hasEnded else {
      throw .damaged(.png, reason: "its data do not end, or are not those of their checksum")
    }
    return pixels
  }

  private static let tooFew = ImageRefusal.damaged(
    .png, reason: "its data are too few for its pixels, or damaged")

  /// Makes samples of a row, whose first byte says how they are told from those left and above.
  private static func unfilter(_ row: inout [UInt8], _ above: [UInt8], _ step: Int) throws(ImageRefusal) {
    for at in 1..<row.count {
      let left = at > step ? Int(row[at - step]) : 0
      let up = Int(above[at])
      let guess: Int
      switch row[0] {
      case 0: return
      case 1: guess = left
      case 2: guess = up
      case 3: guess = (left + up) / 2
      case 4:
        let corner = at > step ? Int(above[at - step]) : 0
        let (fromLeft, fromUp, fromCorner) = (
          abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
        )
        guess = fromLeft <= fromUp && fromLeft <= fromCorner ? left : fromUp <= fromCorner ? up : corner
      default: throw .damaged(.png, reason: "a row of it is stored in an unknown way")
      }
      row[at] &+= UInt8(truncatingIfNeeded: guess)
    }
  }
}

/// How a pixel of 16 bits a sample is stored, and what becomes of it.
private struct DeepPixel {
  /// Bytes of a stored pixel.
  let stored: Int
  private let colours: Int
  private let hasAlpha: Bool
  /// Whether it is decoded with how opaque it is.
  private let isLayered: Bool
  /// The samples of the one colour that is transparent, if there is one.
  private let clear: [UInt8]?

  init(_ structure: PNGStructure, _ bytes: UnsafeRawBufferPointer) {
    colours = structure.isGrey ? 1 : 3
    hasAlpha = structure.hasAlpha
    stored = (colours + (hasAlpha ? 1 : 0)) * 2
    isLayered = structure.layout == .rgba
    let count = colours * 2
    clear =
      structure.hasAlpha ? nil : structure.transparency.flatMap { $0.count == count ? Array(bytes[$0]) : nil }
  }

  func write(_ samples: ArraySlice<UInt8>, to place: UnsafeMutablePointer<UInt8>) {
    let start = samples.startIndex
    for colour in 0..<3 { place[colour] = Self.level(samples, start + (colours == 1 ? 0 : colour * 2)) }
    guard isLayered else { return }
    let isClear = clear.map { samples.prefix(colours * 2).elementsEqual($0) } == true
    place[3] = hasAlpha ? Self.level(samples, start + colours * 2) : isClear ? 0 : 255
  }

  /// A sample with 8 bits, rounded.
  private static func level(_ samples: ArraySlice<UInt8>, _ at: Int) -> UInt8 {
    UInt8((((Int(samples[at]) << 8) | Int(samples[at + 1])) * 255 + 32_895) >> 16)
  }
}

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
