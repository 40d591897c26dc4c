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
