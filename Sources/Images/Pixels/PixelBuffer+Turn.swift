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
