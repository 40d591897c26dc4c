import Cexif

extension Orientation {
  /// Reads the orientation of an EXIF block (`Exif`, two zeroes, then TIFF) with libexif. A block that
  /// cannot be read, or holds no orientation or an impossible one, counts as upright, as every viewer
  /// takes it; the block itself is removed in any case.
  init(exif block: UnsafeRawBufferPointer) {
    self = Self.read(block) ?? .upright
  }

  /// The same for the bare TIFF block of a PNG's eXIf chunk.
  init(tiff block: [UInt8]) {
    self = (Array("Exif\0\0".utf8) + block).withUnsafeBytes { Orientation(exif: $0) }
  }

  private static func read(_ block: UnsafeRawBufferPointer) -> Orientation? {
    guard let length = UInt32(exactly: block.count), let data = exif_data_new() else { return nil }
    defer { exif_data_unref(data) }
    // Nothing is to be mended or added: only what is there counts.
    exif_data_unset_option(data, EXIF_DATA_OPTION_FOLLOW_SPECIFICATION)
    exif_data_load_data(data, block.baseAddress?.assumingMemoryBound(to: UInt8.self), length)
    let directory = data.pointee.ifd.0
    guard let entry = exif_content_get_entry(directory, EXIF_TAG_ORIENTATION),
      entry.pointee.format == EXIF_FORMAT_SHORT, entry.pointee.components >= 1,
      entry.pointee.size >= 2, let value = entry.pointee.data
    else { return nil }
    return Orientation(rawValue: Int(exif_get_short(value, exif_data_get_byte_order(data))))
  }
}
