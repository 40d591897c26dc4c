import Glibc

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
