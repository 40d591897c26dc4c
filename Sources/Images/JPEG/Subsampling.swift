import Cturbojpeg

/// How much coarser colour is stored than brightness; the numbers are libturbojpeg's.
enum Subsampling: Int32 {
  case none = 0  // 4:4:4
  case halfAcross = 1  // 4:2:2
  case halfBoth = 2  // 4:2:0
  case grey = 3
  case halfDown = 4  // 4:4:0
  case quarterAcross = 5  // 4:1:1

  /// Width in pixels of the blocks that a lossless turn moves.
  var blockWidth: Int {
    switch self {
    case .none, .grey, .halfDown: 8
    case .halfAcross, .halfBoth: 16
    case .quarterAcross: 32
    }
  }

  /// Height in pixels of the blocks that a lossless turn moves.
  var blockHeight: Int {
    switch self {
    case .none, .grey, .halfAcross, .quarterAcross: 8
    case .halfBoth, .halfDown: 16
    }
  }
}
