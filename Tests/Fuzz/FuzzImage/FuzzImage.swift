import FuzzSupport
import Images

/// A submitted file: what is accepted comes out as a JPEG, or as a PNG where that is kept, with nothing in it but the
/// picture.
@main enum FuzzImage: FuzzTarget {
  // Small, so that an input that claims a large picture costs the fuzzer no time.
  private static let limits = ImageLimits(
    maxBytes: 200_000, maxPixels: 250_000, maxOutputBytes: 60_000)

  static func take(_ input: UnsafeRawBufferPointer) {
    for keepsPNG in [false, true] {
      var limits = limits
      limits.keepsPNG = keepsPNG
      take(input, limits)
    }
  }

  private static func take(_ input: UnsafeRawBufferPointer, _ limits: ImageLimits) {
    let cleaner = ImageCleaner(limits: limits)
    let clean: CleanImage
    do throws(ImageRefusal) {
      clean = try cleaner.clean(input)
    } catch {
      requireShowable(error.description, limit: 1000, "the refusal")
      return
    }
    require(clean.bytes.count <= limits.maxOutputBytes, "within the limit on bytes")
    require(clean.width > 0 && clean.height > 0, "a picture has a size")
    require(clean.width * clean.height <= limits.maxPixels, "within the limit on pixels")
    if limits.keepsPNG, clean.bytes.first == 0x89 {
      requireBarePNG(clean.bytes)
    } else {
      requireBare(clean.bytes)
    }
    do throws(ImageRefusal) {
      let again = try cleaner.clean(clean.bytes)
      require(again.width == clean.width && again.height == clean.height, "a clean picture keeps its size")
      require(!again.changes.turned && again.changes.metadataBytesRemoved == 0, "a clean picture is clean")
    } catch {
      require(false, "a clean picture is accepted again: \(error)")
    }
  }

  /// Header, palette, data and end alone, and nothing behind the end.
  private static func requireBarePNG(_ bytes: [UInt8]) {
    var rest = bytes.dropFirst(8)
    while rest.count >= 12 {
      let name = String(decoding: rest.dropFirst(4).prefix(4), as: UTF8.self)
      require(["IHDR", "PLTE", "IDAT", "IEND"].contains(name), "no chunk of metadata")
      rest = rest.dropFirst(12 + rest.prefix(4).reduce(0) { $0 << 8 | Int($1) })
      if name == "IEND" { return require(rest.isEmpty, "nothing behind the end") }
    }
    require(false, "a PNG has an end")
  }

  /// No application segment but the JFIF header, no comment, and nothing behind the end.
  private static func requireBare(_ bytes: [UInt8]) {
    require(bytes.starts(with: [0xFF, 0xD8]) && bytes.suffix(2) == [0xFF, 0xD9], "a whole JPEG")
    var position = 2
    while position + 3 < bytes.count {
      require(bytes[position] == 0xFF, "a marker where one must be")
      let marker = bytes[position + 1]
      require(!(0xE1...0xEF).contains(marker) && marker != 0xFE, "no segment of metadata")
      if marker == 0xDA { return }
      position += 2 + Int(bytes[position + 2]) << 8 + Int(bytes[position + 3])
    }
    require(false, "a picture has a scan")
  }
}
