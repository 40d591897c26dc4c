import Glibc

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
