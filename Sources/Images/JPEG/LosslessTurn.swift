import Cturbojpeg

/// Turns a JPEG upright without decoding it to pixels, and copies no marker. The whole stream is read
/// on the way, so a picture that needs no turn goes through it too.
enum LosslessTurn {
  /// How the turned picture is written. Neither changes a pixel.
  enum Packing {
    /// In one go, with the tables of the standard: the fastest to read.
    case plain
    /// Progressive, with tables made for the picture: a tenth smaller or so.
    case small
  }

  static func turn(
    _ bytes: UnsafeRawBufferPointer, _ orientation: Orientation, _ handle: borrowing TurboHandle,
    _ packing: Packing = .plain, _ warnings: JPEGWarnings = .refused
  ) throws(ImageRefusal) -> [UInt8] {
    var transform = tjtransform()
    transform.op = numericCast(operation(orientation).rawValue)
    transform.options = TJXOPT_PERFECT | TJXOPT_COPYNONE | (packing == .small ? TJXOPT_PROGRESSIVE : 0)
    transform.customFilter = { row, region, _, _, _, _ in
      guard let row else { return -1 }
      return LosslessTurn.holdsPossibleValues(row, count: Int(region.w) * Int(region.h)) ? 0 : -1
    }
    var output = TurboBuffer()
    let result = tjTransform(
      handle.pointer, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt(bytes.count), 1,
      &output.start, &output.count, &transform, warnings.flags)
    guard handle.succeeded(result, warnings) else { throw handle.refusal }
    var turned = output.copy()
    normaliseHeader(&turned)
    return turned
  }

  /// The library copies version and density from the submitted picture. A density that differs between the
  /// axes makes some readers stretch the picture, so it is replaced by what an encoded picture has: none.
  private static func normaliseHeader(_ jpeg: inout [UInt8]) {
    let start: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 16] + Array("JFIF\0".utf8)
    guard jpeg.count >= 20, jpeg.starts(with: start) else { return }
    // Version 1.1, no unit, one to one.
    jpeg.replaceSubrange(start.count..<start.count + 7, with: [1, 1, 0, 0, 1, 0, 1])
  }

  /// Whether a row of blocks holds only values that 8-bit pictures can have: 10 bits and a sign, and for
  /// the first value of a block, its mean, one value more. A damaged stream can hold others without a
  /// warning; they have no code in the tables that the turned picture is written with, and the library
  /// would write nonsense in their place.
  static func holdsPossibleValues(_ row: UnsafePointer<Int16>, count: Int) -> Bool {
    var least: Int16 = 0
    var greatest: Int16 = 0
    for block in stride(from: 0, to: count, by: 64) {
      let mean = row[block]
      guard mean >= -1_024 else { return false }
      greatest = max(greatest, mean)
      for index in block + 1..<block + 64 {
        least = min(least, row[index])
        greatest = max(greatest, row[index])
      }
    }
    return least >= -1_023 && greatest <= 1_023
  }

  private static func operation(_ orientation: Orientation) -> TJXOP {
    switch orientation {
    case .upright: TJXOP_NONE
    case .mirror: TJXOP_HFLIP
    case .halfTurn: TJXOP_ROT180
    case .flip: TJXOP_VFLIP
    case .transpose: TJXOP_TRANSPOSE
    case .quarterTurnRight: TJXOP_ROT90
    case .transverse: TJXOP_TRANSVERSE
    case .quarterTurnLeft: TJXOP_ROT270
    }
  }
}
