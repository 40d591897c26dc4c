import Cexif

/// What must be done to see a stored picture upright, numbered as EXIF's tag 0x0112 numbers how the
/// camera was held.
enum Orientation: Int, CaseIterable {
  case upright = 1
  case mirror = 2
  case halfTurn = 3
  case flip = 4
  case transpose = 5
  case quarterTurnRight = 6
  case transverse = 7
  case quarterTurnLeft = 8

  /// Whether width and height are exchanged.
  var exchangesSides: Bool { rawValue >= 5 }

  /// Whether the stored right edge becomes a left or top edge, so that a turn by whole blocks needs
  /// the stored width to be a multiple of the block's.
  var needsWholeBlocksAcross: Bool {
    switch self {
    case .mirror, .halfTurn, .transverse, .quarterTurnLeft: true
    case .upright, .flip, .transpose, .quarterTurnRight: false
    }
  }

  /// The same for the stored bottom edge and the height.
  var needsWholeBlocksDown: Bool {
    switch self {
    case .halfTurn, .flip, .transverse, .quarterTurnRight: true
    case .upright, .mirror, .transpose, .quarterTurnLeft: false
    }
  }
}

extension Orientation {
  /// Reads the orientation of EXIF blocks (`Exif`, two zeroes, then TIFF) with libexif. The first block that
  /// holds one counts, as exiftool reads it. Where none does, or the value is impossible, the picture counts as
  /// upright, as every viewer takes it; the blocks themselves are removed in any case.
  init(exif blocks: [UnsafeRawBufferPointer]) {
    let value = blocks.lazy.compactMap(Self.value).first
    self = value.flatMap { Orientation(rawValue: $0) } ?? .upright
  }

  /// The same for the bare TIFF block of a PNG's eXIf chunk, which some programs begin as a JPEG's segment begins.
  init(tiff block: [UInt8]) {
    let mark = Array("Exif\0\0".utf8)
    self = (block.starts(with: mark) ? block : mark + block).withUnsafeBytes { Orientation(exif: [$0]) }
  }

  /// The value of a block's orientation tag, whatever whole number it is stored as.
  private static func value(_ block: UnsafeRawBufferPointer) -> Int? {
    guard let length = UInt32(exactly: block.count), let data = exif_data_new() else { return nil }
    defer { exif_data_unref(data) }
    // Nothing is to be mended or added: only what is there counts.
    exif_data_unset_option(data, EXIF_DATA_OPTION_FOLLOW_SPECIFICATION)
    exif_data_load_data(data, block.baseAddress?.assumingMemoryBound(to: UInt8.self), length)
    let directory = data.pointee.ifd.0
    guard let entry = exif_content_get_entry(directory, EXIF_TAG_ORIENTATION),
      entry.pointee.components >= 1, let value = entry.pointee.data,
      entry.pointee.size >= UInt32(exif_format_get_size(entry.pointee.format))
    else { return nil }
    let order = exif_data_get_byte_order(data)
    return switch entry.pointee.format {
    case EXIF_FORMAT_BYTE, EXIF_FORMAT_SBYTE: Int(value[0])
    case EXIF_FORMAT_SHORT, EXIF_FORMAT_SSHORT: Int(exif_get_short(value, order))
    case EXIF_FORMAT_LONG, EXIF_FORMAT_SLONG: Int(exif_get_long(value, order))
    default: nil
    }
  }
}
