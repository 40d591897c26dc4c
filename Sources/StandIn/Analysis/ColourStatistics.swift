import Cpng
import Cturbojpeg

/// Colour and brightness of a picture, each from 0 to 1.
struct ColourStatistics: Equatable, Sendable {
  var brightness = 0.0
  /// Standard deviation of the brightness.
  var contrast = 0.0
  /// Mean excess of red over the other two channels.
  var redness = 0.0
  /// Share of bright pixels without much colour.
  var pale = 0.0
  /// Mean excess of red and green over blue.
  var yellowness = 0.0
  /// Share of dark pixels.
  var dark = 0.0

  /// Made-up statistics, the same for the same digest, for when pictures are not decoded.
  init(drawnFrom digest: ImageDigest) {
    func byte(_ number: UInt64, _ shift: UInt64) -> Double { Double(number >> shift & 0xff) / 255 }
    brightness = byte(digest.high, 0)
    contrast = byte(digest.high, 8) / 2
    redness = byte(digest.high, 16) / 2
    pale = byte(digest.high, 24) / 2
    yellowness = byte(digest.high, 32) / 2
    dark = byte(digest.high, 40) / 2
  }

  /// Statistics of packed RGB bytes.
  init(rgb: UnsafeBufferPointer<UInt8>) {
    let count = rgb.count / 3
    guard count > 0 else { return }
    var (sum, squares, red, yellow, paleCount, darkCount) = (0, 0, 0, 0, 0, 0)
    var index = 0
    for _ in 0..<count {
      let (r, g, b) = (Int(rgb[index]), Int(rgb[index + 1]), Int(rgb[index + 2]))
      index += 3
      let light = (77 * r + 150 * g + 29 * b) >> 8
      sum += light
      squares += light * light
      red += max(0, r - max(g, b))
      yellow += max(0, min(r, g) - b)
      if light > 170, max(r, g, b) - min(r, g, b) < 60 { paleCount += 1 }
      if light < 60 { darkCount += 1 }
    }
    let total = Double(count)
    let mean = Double(sum) / total
    brightness = mean / 255
    contrast = max(0, Double(squares) / total - mean * mean).squareRoot() / 127.5
    redness = Double(red) / total / 255
    yellowness = Double(yellow) / total / 255
    pale = Double(paleCount) / total
    dark = Double(darkCount) / total
  }
}

/// Reads the colours of a picture: of a JPEG at a fraction of its size.
enum PictureDecoder {
  /// Larger pictures are refused, whatever their file's size.
  static let maximumPixels = 8_192 * 8_192

  /// Statistics of the picture, or nil if the bytes are no whole JPEG of at most so many pixels.
  static func statistics(jpeg: UnsafeBufferPointer<UInt8>) -> ColourStatistics? {
    guard let base = jpeg.baseAddress, let decoder = tjInitDecompress() else { return nil }
    defer { tjDestroy(decoder) }
    var (width, height, subsampling, space): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
    let size = UInt(jpeg.count)
    guard tjDecompressHeader3(decoder, base, size, &width, &height, &subsampling, &space) == 0,
      width > 0, height > 0, Int(width) * Int(height) <= maximumPixels
    else { return nil }
    let divisor = divisor(width: Int(width), height: Int(height))
    let (columns, rows) = ((Int(width) + divisor - 1) / divisor, (Int(height) + divisor - 1) / divisor)
    let pixels = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: columns * rows * 3)
    defer { pixels.deallocate() }
    // A warning, such as a picture cut short, is a failure as well.
    guard
      tjDecompress2(
        decoder, base, size, pixels.baseAddress, Int32(columns), 0, Int32(rows), Int32(TJPF_RGB.rawValue),
        Int32(TJFLAG_FASTDCT | TJFLAG_FASTUPSAMPLE)) == 0
    else { return nil }
    return ColourStatistics(rgb: UnsafeBufferPointer(pixels))
  }

  /// Statistics of the picture, or nil if the bytes are no whole PNG of at most so many pixels.
  static func statistics(png: UnsafeBufferPointer<UInt8>) -> ColourStatistics? {
    // At a fixed address: between the calls libpng keeps a pointer to it.
    let image = UnsafeMutablePointer<png_image>.allocate(capacity: 1)
    image.initialize(to: png_image())
    image.pointee.version = UInt32(PNG_IMAGE_VERSION)
    defer {
      png_image_free(image)
      image.deallocate()
    }
    guard png_image_begin_read_from_memory(image, png.baseAddress, png.count) != 0 else { return nil }
    let count = Int(image.pointee.width) * Int(image.pointee.height)
    guard count <= maximumPixels else { return nil }
    image.pointee.format = UInt32(PNG_FORMAT_FLAG_COLOR)
    let pixels = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: count * 3)
    defer { pixels.deallocate() }
    // What is transparent is laid on black.
    var background = png_color(red: 0, green: 0, blue: 0)
    guard png_image_finish_read(image, &background, pixels.baseAddress, 0, nil) != 0 else { return nil }
    return ColourStatistics(rgb: UnsafeBufferPointer(pixels))
  }

  /// The largest divisor the decoder offers that leaves 16 pixels or more on the shorter side.
  static func divisor(width: Int, height: Int) -> Int {
    [8, 4, 2].first { min(width, height) / $0 >= 16 } ?? 1
  }
}
