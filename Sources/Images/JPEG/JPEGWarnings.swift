import Cjpeg

/// What becomes of the warnings with which a JPEG is read. libjpeg shows grey or nonsense where a picture lacks
/// something, and calls that a warning too.
enum JPEGWarnings {
  /// Each is a refusal.
  case refused
  /// None counts: all of them were found to be harmless.
  case harmless

  /// So many bytes of any value may stand before a marker at which the decoder restarts: cameras fill up what they
  /// write. So many zeroes more than it passes over may stand there too, those that it reads ahead: where it took more
  /// of them for samples, a part of the picture was overwritten with zeroes.
  private static let mostBytes: Int32 = 16

  /// The words of the first error or warning of a file that costs pixels; nil where it is read to its end without one.
  static func harm(in bytes: UnsafeRawBufferPointer) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(JMSG_LENGTH_MAX)) { words in
      let isWhole = cjpeg_is_whole(
        bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt(bytes.count),
        { JPEGWarnings.isHarmless($0) },
        words.baseAddress)
      return isWhole ? nil : words.baseAddress.map { String(cString: $0) }
    }
  }

  /// The list of the warnings that cost no pixel. Any other is of data that are missing, too many or impossible.
  private static func isHarmless(_ warning: cjpeg_warning) -> Bool {
    switch J_MESSAGE_CODE(rawValue: UInt32(truncatingIfNeeded: warning.code)) {
    // A JFIF header of a revision to come, and a baseline scan that says zero where there is but one choice.
    case JWRN_JFIF_MAJOR, JWRN_NOT_SEQUENTIAL: true
    case JWRN_EXTRANEOUS_DATA:
      // Between the segments before the picture; zeroes before any marker, as video frames are filled up with; and a
      // few bytes where the decoder restarts, since what came before was read whole. More are what is left over where
      // samples were read wrongly.
      warning.scans == 0 || (0...mostBytes).contains(warning.zeroes - warning.discarded)
        || (warning.restarts > 0 && warning.discarded <= mostBytes)
    default: false
    }
  }
}
