import Glibc

/// A decoded picture, row after row without gaps. The memory is plain, not an array's, so that a large
/// picture is neither zeroed before it is decoded nor copied by accident, and running out of it is a
/// refusal instead of a crash.
struct PixelBuffer: ~Copyable {
  let size: PixelSize
  /// RGB, unless it is being decoded.
  var layout: PixelLayout
  let start: UnsafeMutablePointer<UInt8>

  init(_ size: PixelSize, _ layout: PixelLayout = .rgb) throws(ImageRefusal) {
    let (count, overflow) = size.pixels.multipliedReportingOverflow(by: layout.samples)
    guard size.width > 0, size.height > 0, !overflow, let memory = Self.allocate(count) else {
      throw .notProcessed("memory is short")
    }
    self.size = size
    self.layout = layout
    start = memory
  }

  deinit { Self.release(start) }

  /// Makes opaque RGB in sRGB of what was decoded: by the conversion, if there is one.
  mutating func finishColours(_ conversion: ColourConversion?) {
    if let conversion { convert(by: conversion) }
    switch layout {
    case .rgb: break
    case .rgba: layOnWhite()
    case .inks: convertInksToRGB()
    }
    layout = .rgb
  }

  /// Lays what is transparent on white, in place, on the samples as they are, as browsers do, and not in
  /// linear light.
  private func layOnWhite() {
    for pixel in 0..<size.pixels {
      let from = start + pixel * 4
      let to = start + pixel * 3
      let opaque = Int(from[3])
      let white = (255 - opaque) * 255 + 127
      let (red, green, blue) = (Int(from[0]), Int(from[1]), Int(from[2]))
      to[0] = UInt8((red * opaque + white) / 255)
      to[1] = UInt8((green * opaque + white) / 255)
      to[2] = UInt8((blue * opaque + white) / 255)
    }
  }

  /// Makes four ink samples a pixel into three of light, in place: the plain conversion that browsers make
  /// where there is no profile.
  private func convertInksToRGB() {
    for pixel in 0..<size.pixels {
      let from = start + pixel * 4
      let to = start + pixel * 3
      let black = Int(from[3])
      let (red, green, blue) = (Int(from[0]), Int(from[1]), Int(from[2]))
      // Products of two values up to 255, divided and rounded: at most 255 again.
      to[0] = UInt8((red * black + 127) / 255)
      to[1] = UInt8((green * black + 127) / 255)
      to[2] = UInt8((blue * black + 127) / 255)
    }
  }
}

extension PixelBuffer {
  /// Uninitialised memory, or nil if there is none.
  static func allocate(_ count: Int) -> UnsafeMutablePointer<UInt8>? {
    malloc(count)?.bindMemory(to: UInt8.self, capacity: count)
  }

  static func release(_ memory: UnsafeMutablePointer<UInt8>) {
    free(memory)
  }
}

extension PixelBuffer {
  /// The picture at the given size, which is of the picture as stored and not larger, and upright.
  consuming func finished(
    _ wanted: PixelSize, _ orientation: Orientation
  ) throws(ImageRefusal) -> PixelBuffer {
    switch (wanted == size, orientation == .upright) {
    case (true, true): return self
    case (true, false): return try turned(orientation)
    case (false, true): return try scaled(to: wanted)
    case (false, false): return try scaled(to: wanted).turned(orientation)
    }
  }

  /// The picture turned upright.
  private borrowing func turned(_ orientation: Orientation) throws(ImageRefusal) -> PixelBuffer {
    let turned = try PixelBuffer(size.exchanged(orientation.exchangesSides))
    let (width, height) = (size.width, size.height)
    // Where the upright picture's first pixel is in the stored one, and the steps from there along a
    // row and down a column, all in pixels.
    let (first, across, down) =
      switch orientation {
      case .upright: (0, 1, width)
      case .mirror: (width - 1, -1, width)
      case .halfTurn: (width * height - 1, -1, -width)
      case .flip: (width * (height - 1), 1, -width)
      case .transpose: (0, width, 1)
      case .quarterTurnRight: (width * (height - 1), -width, 1)
      case .transverse: (width * height - 1, -width, -1)
      case .quarterTurnLeft: (width - 1, width, -1)
      }
    var to = turned.start
    for row in 0..<turned.size.height {
      var from = start + (first + row * down) * 3
      for _ in 0..<turned.size.width {
        to[0] = from[0]
        to[1] = from[1]
        to[2] = from[2]
        to += 3
        from += across * 3
      }
    }
    return turned
  }
}

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
