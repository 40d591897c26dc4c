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

  var samples: Int { self == .rgb ? 3 : 4 }
}

extension PixelBuffer {
  /// The picture scaled down: each new pixel has the average light of the area it covers, its edges weighted
  /// by how much of them it covers. Averages of the samples themselves would be too dark. Nothing is scaled up.
  borrowing func scaled(to wanted: PixelSize) throws(ImageRefusal) -> PixelBuffer {
    let target = PixelSize(min(wanted.width, size.width), min(wanted.height, size.height))
    let result = try PixelBuffer(target)
    let columns = Coverage.of(size.width, by: target.width)
    let rows = Coverage.of(size.height, by: target.height)
    let values = target.width * 3
    var sums = [Float](repeating: 0, count: values)
    var line = [Float](repeating: 0, count: values)
    var lineRow = -1
    let light = LinearLight.ofSample
    let samples = LinearLight.sample
    let steps = Float(LinearLight.steps)
    for (targetRow, coverage) in rows.enumerated() {
      for index in 0..<values { sums[index] = 0 }
      for (step, weight) in coverage.weights.enumerated() {
        let row = coverage.first + step
        if row != lineRow {
          // A row on the border of two areas is needed twice running; it is made once.
          squeeze(row: row, by: columns, light, into: &line)
          lineRow = row
        }
        for index in 0..<values { sums[index] += line[index] * weight }
      }
      let to = result.start + targetRow * values
      for index in 0..<values { to[index] = samples[Int(min(max(sums[index], 0), 1) * steps + 0.5)] }
    }
    return result
  }

  private borrowing func squeeze(
    row: Int, by columns: [Coverage], _ light: [Float], into line: inout [Float]
  ) {
    let from = start + row * size.width * 3
    for (column, coverage) in columns.enumerated() {
      var (red, green, blue): (Float, Float, Float) = (0, 0, 0)
      var pixel = from + coverage.first * 3
      for weight in coverage.weights {
        red += light[Int(pixel[0])] * weight
        green += light[Int(pixel[1])] * weight
        blue += light[Int(pixel[2])] * weight
        pixel += 3
      }
      line[column * 3] = red
      line[column * 3 + 1] = green
      line[column * 3 + 2] = blue
    }
  }
}

/// Which old pixels of one axis a new pixel covers, and the share of each in it.
private struct Coverage {
  let first: Int
  let weights: [Float]

  static func of(_ old: Int, by new: Int) -> [Coverage] {
    (0..<new).map { index in
      let start = Double(index) * Double(old) / Double(new)
      let end = Double(index + 1) * Double(old) / Double(new)
      let first = Int(start)
      let last = min(Int(end.rounded(.up)), old)
      let weights = (first..<max(last, first + 1)).map { pixel in
        Float((min(end, Double(pixel + 1)) - max(start, Double(pixel))) / (end - start))
      }
      return Coverage(first: first, weights: weights)
    }
  }
}

/// Tables between 8-bit samples of sRGB and light.
enum LinearLight {
  /// The light, 0 to 1, of each of the 256 samples.
  static let ofSample: [Float] = (0..<256).map { Float(light(Double($0) / 255)) }

  /// The sample that is nearest to a light, for each of so many steps of light.
  static let sample: [UInt8] = (0...steps).map { step in
    let light = Double(step) / Double(steps)
    let value = light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
    return UInt8((value * 255).rounded())
  }

  /// Fine enough: the darkest samples are twenty steps apart.
  static let steps = 1 << 16

  private static func light(_ value: Double) -> Double {
    value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
  }
}

/// Encodes a picture so that it stays within the limit of what goes out, and loses as little as possible.
struct OutputFitter {
  /// The quality that a picture is written with where it fits. At 98 no diagnosis of the real pictures that were
  /// tried changed; at 92 three of 24 did.
  static let best = 98
  /// The lowest quality; below it the picture is made smaller instead.
  static let least = 80

  let limits: ImageLimits

  /// A picture within the limits.
  struct Fitted {
    let bytes: [UInt8]
    let size: PixelSize
  }

  /// Encodes at the best quality if that fits, else at the highest that does; then with coarser colour, and
  /// then smaller and smaller. Each smaller picture is scaled from the given one itself and aims a little below the
  /// limit by what the last one came to.
  func encode(
    _ pixels: consuming PixelBuffer, _ subsampling: Subsampling
  ) throws(ImageRefusal) -> Fitted {
    let bytes = try JPEGEncoder.encode(pixels, quality: Self.best, subsampling)
    if fits(bytes) { return Fitted(bytes: bytes, size: pixels.size) }
    let coarse = subsampling == .grey ? Subsampling.grey : .halfBoth
    for subsampling in subsampling == coarse ? [coarse] : [subsampling, coarse] {
      if let bytes = try highestQuality(pixels, subsampling) {
        return Fitted(bytes: bytes, size: pixels.size)
      }
    }
    var smallest = try JPEGEncoder.encode(pixels, quality: Self.least, coarse)
    var size = pixels.size
    while !fits(smallest) {
      guard let smaller = nextSize(after: size, bytes: smallest.count, of: pixels.size) else {
        throw .cannotFit(limit: limits.maxOutputBytes)
      }
      size = smaller
      smallest = try JPEGEncoder.encode(try pixels.scaled(to: size), quality: Self.least, coarse)
    }
    return Fitted(bytes: smallest, size: size)
  }

  private func fits(_ bytes: [UInt8]) -> Bool { bytes.count <= limits.maxOutputBytes }

  /// The picture at the highest quality below the best that fits, or nil if none does. Halving the 18 that there
  /// are takes five encodings, so that with the best one no more than six are made.
  private func highestQuality(
    _ pixels: borrowing PixelBuffer, _ subsampling: Subsampling
  ) throws(ImageRefusal) -> [UInt8]? {
    var (low, high) = (Self.least, Self.best - 1)
    var found: [UInt8]?
    while low <= high {
      let quality = (low + high) / 2
      let bytes = try JPEGEncoder.encode(pixels, quality: quality, subsampling)
      if fits(bytes) {
        found = bytes
        low = quality + 1
      } else {
        high = quality - 1
      }
    }
    return found
  }

  /// The size to try after one that came to too many bytes, or nil if there is none smaller. Bytes go
  /// roughly with the area, the header aside; a step takes at least a tenth off a side and at most
  /// three quarters.
  private func nextSize(after size: PixelSize, bytes: Int, of full: PixelSize) -> PixelSize? {
    guard size.longestSide > 1 else { return nil }
    let share = (Double(max(limits.maxOutputBytes, 0)) / Double(bytes)).squareRoot() * 0.97
    let side = Int(Double(size.longestSide) * min(max(share, 0.25), 0.9))
    return full.scaled(by: Double(max(side, 1)) / Double(full.longestSide))
  }
}
