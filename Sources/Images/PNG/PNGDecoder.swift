import Cpng

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
