import Clcms2
import Glibc

/// The way from a picture's own colours to sRGB. Colours that sRGB does not hold become the nearest that lcms2
/// finds.
enum ColourConversion {
  /// By a transform for the picture's layout.
  case colours(ColourTransform)
  /// By a table from a grey to red, green and blue.
  case grey([UInt8])
}

extension PixelBuffer {
  /// Converts the picture to sRGB, a row at a time; inks become RGB thereby.
  mutating func convert(by conversion: ColourConversion) {
    switch conversion {
    case .colours(let transform): convert(by: transform)
    case .grey(let table): convert(by: table)
    }
  }

  private mutating func convert(by transform: ColourTransform) {
    let (start, size) = (start, size)
    let (from, to) = (size.width * layout.samples, size.width * (layout == .rgba ? 4 : 3))
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: from) { row in
      guard let row = row.baseAddress else { return }
      for number in 0..<size.height {
        memcpy(row, start + number * from, from)
        transform.apply(to: row, into: start + number * to, count: size.width)
      }
    }
    if layout == .inks { layout = .rgb }
  }

  /// The samples of a grey picture are alike; the first is looked up.
  private mutating func convert(by table: [UInt8]) {
    let (start, size, samples) = (start, size, layout.samples)
    table.withUnsafeBufferPointer { table in
      for pixel in 0..<size.pixels {
        let at = start + pixel * samples
        let grey = Int(at[0]) * 3
        at[0] = table[grey]
        at[1] = table[grey + 1]
        at[2] = table[grey + 2]
      }
    }
  }
}

/// One transform of lcms2.
final class ColourTransform {
  private let handle: cmsHTRANSFORM
  /// Its context outlives the transform.
  private let profile: ColourProfile

  init(_ handle: cmsHTRANSFORM, of profile: ColourProfile) {
    self.handle = handle
    self.profile = profile
  }

  deinit { cmsDeleteTransform(handle) }

  /// Converts so many pixels; the two rows must not overlap.
  func apply(to row: UnsafePointer<UInt8>, into result: UnsafeMutablePointer<UInt8>, count: Int) {
    cmsDoTransform(handle, row, result, UInt32(count))
  }

  /// Converts samples to colours.
  func apply(to samples: [Double], into colours: inout [cmsCIELab], count: Int) {
    cmsDoTransform(handle, samples, &colours, UInt32(count))
  }

  /// What each grey of 8 bits becomes: 256 times red, green and blue.
  var ofAllGreys: [UInt8] {
    var result = [UInt8](repeating: 0, count: 256 * 3)
    cmsDoTransform(handle, (0...255).map { UInt8($0) }, &result, 256)
    return result
  }
}
