import Cpng

/// Decodes a PNG of any kind to RGB on white, by libpng's simplified interface: the classic one reports
/// errors by longjmp, which must not cross Swift frames. libpng's own limits (a million pixels a side,
/// 8 MB a chunk, 1,000 chunks kept) hold as well.
enum PNGDecoder {
  /// The picture as it is stored. Indexed, grey, 16-bit and interlaced pictures come out alike; what is
  /// transparent is laid on white.
  static func decode(_ bytes: UnsafeRawBufferPointer, size: PixelSize) throws(ImageRefusal) -> PixelBuffer {
    let reader = Reader()
    guard png_image_begin_read_from_memory(reader.image, bytes.baseAddress, bytes.count) != 0 else {
      throw reader.refusal
    }
    guard Int(reader.image.pointee.width) == size.width, Int(reader.image.pointee.height) == size.height
    else { throw .damaged(.png, reason: "it has two headers that differ") }
    // Without a word on its gamma a 16-bit picture is taken for sRGB, as every viewer does and as an
    // 8-bit one is, and not for linear light.
    reader.image.pointee.flags |= UInt32(PNG_IMAGE_FLAG_16BIT_sRGB)
    reader.image.pointee.format = UInt32(PNG_FORMAT_FLAG_COLOR)
    let pixels = try PixelBuffer(size)
    var white = png_color(red: 255, green: 255, blue: 255)
    guard png_image_finish_read(reader.image, &white, pixels.start, 0, nil) != 0 else {
      throw reader.refusal
    }
    // A warning about an ancillary chunk says nothing of the picture. One about the picture's data does.
    guard !reader.message.hasPrefix("IDAT") else { throw reader.refusal }
    return pixels
  }
}

/// libpng's image record at a fixed place: between the calls libpng keeps a pointer to it.
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
