/// How the samples of a decoded picture lie, 8 bits each.
enum PixelLayout {
  case rgb
  /// RGB and how opaque it is, which is not multiplied in.
  case rgba
  /// Cyan, magenta, yellow and black as JPEG stores them: 255 is no ink.
  case inks

  /// Samples a pixel.
  var samples: Int { self == .rgb ? 3 : 4 }
}
