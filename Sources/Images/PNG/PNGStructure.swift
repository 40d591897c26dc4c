import Czlib

/// The chunks of a PNG, walked and checked without decoding. libpng's simplified interface stops when it
/// has the last row: it sees neither a wrong checksum of the last data chunk nor a missing end.
struct PNGStructure {
  static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  let size: PixelSize
  /// Whether the picture has no colour but grey.
  let isGrey: Bool
  /// How the samples lie when decoded.
  private(set) var layout: PixelLayout
  /// Offsets of the TIFF block of the first eXIf chunk.
  private(set) var exif: Range<Int>?
  /// Bytes of ancillary chunks and behind the end chunk.
  private(set) var metadataBytes = 0
  /// What is said of the colours.
  private(set) var colours = PNGColours()
  /// Where the chunks are that libpng needs.
  private var picture: [Range<Int>] = []
  /// Offsets of what says which colours are transparent; nil where nothing does before the data.
  private(set) var transparency: Range<Int>?
  /// Where the palette is; nil where there is none, or none that the samples need.
  private var palette: Range<Int>?
  /// Where the data chunks are.
  private var data: [Range<Int>] = []
  /// Bits of a sample or of a palette's index.
  let depth: Int
  /// Whether the samples come in seven parts, each finer than the one before.
  let isInterlaced: Bool
  /// Whether each pixel has a sample for how opaque it is.
  let hasAlpha: Bool
  private let isIndexed: Bool

  /// Reads the header alone.
  init(header bytes: UnsafeRawBufferPointer) throws(ImageRefusal) {
    guard bytes.count >= 33 else { throw Self.cutOff }
    if Self.name(bytes, 12) == "CgBI" {
      throw .unsupportedVariant("a PNG as iPhone programs hold it (CgBI)", .png)
    }
    guard Self.number(bytes, 8) == 13, Self.name(bytes, 12) == "IHDR" else {
      throw .damaged(.png, reason: "it does not begin with the picture's header")
    }
    let (width, height) = (Self.number(bytes, 16), Self.number(bytes, 20))
    let greatest = Int(Int32.max)
    guard (1...greatest).contains(width), (1...greatest).contains(height) else {
      throw .damaged(.png, reason: "its header gives a picture without width or height")
    }
    size = PixelSize(width, height)
    isGrey = bytes[25] & 2 == 0
    hasAlpha = bytes[25] & 4 != 0
    isInterlaced = bytes[28] != 0
    depth = Int(bytes[24])
    isIndexed = bytes[25] == 3
    layout = hasAlpha ? .rgba : .rgb
  }

  /// Reads the header, refuses a picture beyond the limit, and walks the chunks to the end chunk.
  init(_ bytes: UnsafeRawBufferPointer, limits: ImageLimits) throws(ImageRefusal) {
    try self.init(header: bytes)
    try limits.check(size)
    var position = Self.signature.count
    var isBeforeData = true
    while true {
      guard position + 12 <= bytes.count else { throw Self.cutOff }
      let length = Self.number(bytes, position)
      let name = Self.name(bytes, position + 4)
      guard length <= Int(Int32.max), name.utf8.allSatisfy(Self.isLetter) else {
        throw .damaged(.png, reason: "what should be a chunk at byte \(position) is none")
      }
      let end = position + 12 + length
      guard end <= bytes.count else { throw Self.cutOff }
      let checked = UnsafeRawBufferPointer(rebasing: bytes[position + 4..<end - 4])
      let sum = UInt32(Self.number(bytes, end - 4))
      guard CRC32.of(checked) == sum || Self.isPassedOver(name, checked, sum) else {
        throw .damaged(.png, reason: "the checksum of its \(name) chunk at byte \(position) is wrong")
      }
      // A lower-case first letter is an ancillary chunk. Of those, only transparency is the picture's.
      let isAncillary = bytes[position + 4] & 0x20 != 0
      if isAncillary, name != "tRNS" {
        metadataBytes += end - position
      } else {
        picture.append(position..<end)
      }
      if name == "tRNS" { layout = .rgba }
      if name == "tRNS", isBeforeData { transparency = transparency ?? position + 8..<end - 4 }
      if name == "IDAT" {
        isBeforeData = false
        data.append(position..<end)
      }
      if name == "PLTE", isIndexed, isBeforeData { palette = palette ?? position..<end }
      if isBeforeData { colours.note(name, position + 8..<end - 4) }
      if name == "eXIf", exif == nil { exif = position + 8..<end - 4 }
      position = end
      if name == "IEND" { break }
    }
    metadataBytes += bytes.count - position
  }

  /// The chunks that say something of the picture.
  private static let needed = [
    "cICP", "iCCP", "sRGB", "gAMA", "cHRM", "eXIf", "tRNS", "PLTE", "IDAT", "IEND",
  ]

  /// Whether a chunk whose checksum is wrong may be passed over: it is removed anyway, and it is no other whose name
  /// is damaged.
  private static func isPassedOver(_ name: String, _ checked: UnsafeRawBufferPointer, _ sum: UInt32) -> Bool {
    let isAncillary = name.utf8.first.map { $0 & 0x20 != 0 } == true
    return isAncillary && !needed.contains(name)
      && !needed.contains { other in
        let renamed = Array(other.utf8) + checked.dropFirst(4)
        return renamed.withUnsafeBytes { CRC32.of($0) } == sum
      }
  }

  /// The samples, in the order in which they are stored; nil where there is no memory.
  func samples(_ bytes: UnsafeRawBufferPointer) -> CompressedSamples? {
    CompressedSamples(data.map { $0.lowerBound + 8..<$0.upperBound - 4 }, of: bytes)
  }

  /// A copy of the file with the chunks that libpng needs and no others; the caller deallocates it.
  func pictureAlone(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawBufferPointer {
    let parts = [0..<Self.signature.count] + picture
    let copy = UnsafeMutableRawBufferPointer.allocate(
      byteCount: parts.reduce(0) { $0 + $1.count }, alignment: 1)
    var position = 0
    for part in parts {
      UnsafeMutableRawBufferPointer(rebasing: copy[position..<position + part.count])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[part]))
      position += part.count
    }
    return copy
  }

  /// The file with the chunks alone without which the picture cannot be decoded, each as it is; nil for a picture that
  /// cannot be sent like that: it has transparency, or more than 8 bits a sample, which not every decoder reads right, or
  /// bytes that no decoder looks at where its samples or its palette should be. What decoded it has found it sound.
  func withoutMetadata(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    guard layout == .rgb, depth <= 8, (palette?.count ?? 0) <= 12 + (3 << depth),
      samples(bytes)?.fill(size) == true
    else { return nil }
    let header = 8..<33
    let end: [UInt8] = [0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82]
    return Self.signature + ([header] + (palette.map { [$0] } ?? []) + data).flatMap { bytes[$0] } + end
  }

  private static let cutOff = ImageRefusal.truncated(.png, reason: "it ends before the picture does")

  private static func number(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Int {
    bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
  }

  private static func name(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> String {
    String(decoding: bytes[offset..<offset + 4], as: UTF8.self)
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (0x41...0x5A).contains(byte & ~0x20)
  }
}

/// The checksum of PNG's chunks.
struct CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in
      value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1
    }
  }

  static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    table.withUnsafeBufferPointer { table in
      var value: UInt32 = 0xFFFF_FFFF
      for byte in bytes { value = table[Int(UInt8(truncatingIfNeeded: value) ^ byte)] ^ (value >> 8) }
      return ~value
    }
  }
}

/// The samples of a PNG: one zlib stream, in pieces that are the contents of the data chunks.
struct CompressedSamples: ~Copyable {
  private let bytes: UnsafeRawBufferPointer
  /// The pieces that have not begun.
  private var pieces: ArraySlice<Range<Int>>
  /// At a fixed address, to which zlib keeps a pointer.
  private let stream: UnsafeMutablePointer<z_stream>
  private var result = Z_OK

  /// The stream in pieces of a file; nil where there is no memory.
  init?(_ pieces: [Range<Int>], of bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    self.pieces = pieces[...]
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard inflateInit_(stream, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      stream.deallocate()
      return nil
    }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// The next bytes; how many there are. Fewer than there is room for come at the end alone, or where the stream is
  /// damaged.
  mutating func read(into room: UnsafeMutableBufferPointer<UInt8>) -> Int {
    stream.pointee.next_out = room.baseAddress
    stream.pointee.avail_out = UInt32(room.count)
    while stream.pointee.avail_out > 0, result == Z_OK {
      if stream.pointee.avail_in == 0 {
        guard let piece = pieces.popFirst() else { break }
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self).advanced(by: piece.lowerBound)
        stream.pointee.next_in = UnsafeMutablePointer(mutating: start)
        stream.pointee.avail_in = UInt32(piece.count)
      }
      result = inflate(stream, Z_NO_FLUSH)
      // Nothing is wrong: what comes next is in the next piece.
      if result == Z_BUF_ERROR, stream.pointee.avail_in == 0 { result = Z_OK }
    }
    return room.count - Int(stream.pointee.avail_out)
  }

  /// Whether the stream has ended, and its checksum was right.
  var hasEnded: Bool { result == Z_STREAM_END }

  /// Whether the stream ends where its pieces do, and is no larger than a picture of this size with 8 bits a sample: so
  /// that nothing else is in them.
  consuming func fill(_ size: PixelSize) -> Bool {
    // With a byte for each row, of which an interlaced picture has up to twice as many and 7 more.
    let most = (size.width * 3 + 2) * (size.height + 7)
    let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1 << 16)
    defer { room.deallocate() }
    var (total, came) = (0, room.count)
    while came == room.count, total <= most {
      came = read(into: room)
      total += came
    }
    return hasEnded && total <= most && stream.pointee.avail_in == 0 && pieces.allSatisfy(\.isEmpty)
  }
}
