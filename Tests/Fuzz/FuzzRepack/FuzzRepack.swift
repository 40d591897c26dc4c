import FuzzSupport

@testable import Images

/// A JPEG that is a byte too large for what goes out: packed anew it has the same pixels, else it is encoded anew.
@main enum FuzzRepack: FuzzTarget {
  private static func limits(_ maxOutputBytes: Int) -> ImageLimits {
    ImageLimits(maxBytes: 200_000, maxPixels: 100_000, maxOutputBytes: maxOutputBytes)
  }

  static func take(_ input: UnsafeRawBufferPointer) {
    do throws(ImageRefusal) {
      let plain = try ImageCleaner(limits: limits(200_000)).clean(input)
      guard plain.source == .jpeg, !plain.changes.reencoded else { return }
      try pack(input, plain)
    } catch {
      requireShowable(error.description, limit: 1000, "the refusal")
    }
  }

  private static func pack(_ input: UnsafeRawBufferPointer, _ plain: CleanImage) throws(ImageRefusal) {
    let most = plain.bytes.count - 1
    let packed: CleanImage
    do throws(ImageRefusal) {
      packed = try ImageCleaner(limits: limits(most)).clean(input)
    } catch {
      require([.cannotFit, .damaged, .truncated].contains(error.code), "a picture that was clean: \(error)")
      return
    }
    require(packed.bytes.count <= most, "within the limit on bytes")
    guard !packed.changes.reencoded else { return }
    require(packed.width == plain.width && packed.height == plain.height, "packing keeps the size")
    require(try pixels(packed) == pixels(plain), "packing keeps every pixel")
    let again = try ImageCleaner(limits: limits(most)).clean(packed.bytes)
    require(again.bytes == packed.bytes, "what was packed stays as it is")
  }

  private static func pixels(_ image: CleanImage) throws(ImageRefusal) -> [UInt8] {
    try image.bytes.withUnsafeBytes { bytes in
      Result { () throws(ImageRefusal) -> [UInt8] in
        let handle = try TurboHandle(.transform)
        let header = try JPEGHeader(bytes, handle)
        let pixels = try JPEGDecoder.decode(bytes, header, handle)
        return Array(UnsafeBufferPointer(start: pixels.start, count: pixels.size.pixels * 3))
      }
    }.get()
  }
}
