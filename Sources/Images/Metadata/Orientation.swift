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
