import Cturbojpeg

/// One libturbojpeg instance. Instances are not shared, so cleaning may run on any number of threads.
struct TurboHandle: ~Copyable {
  enum Purpose { case compress, transform }

  /// Valid as long as this value; never handed on.
  let pointer: tjhandle

  /// A transforming instance decompresses as well.
  init(_ purpose: Purpose) throws(ImageRefusal) {
    let made =
      switch purpose {
      case .compress: tjInitCompress()
      case .transform: tjInitTransform()
      }
    guard let made else { throw .notProcessed("the JPEG library did not start") }
    pointer = made
  }

  deinit { tjDestroy(pointer) }

  /// What the library says of the last failed call, without the name of its function before it.
  var reason: String {
    guard let text = tjGetErrorStr2(pointer) else { return "no reason given" }
    let whole = String(cString: text)
    guard whole.hasPrefix("tj"), let space = whole.firstIndex(of: " ") else { return whole }
    return String(whole[whole.index(after: space)...])
  }

  /// The refusal that the last failed call amounts to. The library reports a picture that is cut off,
  /// or whose data are corrupt, only as a warning, and shows grey in the missing place: each warning is
  /// a refusal here.
  var refusal: ImageRefusal {
    let reason = reason
    if reason.hasPrefix("Premature end") {
      return .truncated(.jpeg, reason: "it ends before the picture does")
    }
    if reason.hasPrefix("Insufficient memory") || reason.contains("Memory allocation failure") {
      return .notProcessed("memory is short")
    }
    return .damaged(.jpeg, reason: "\"\(reason)\"")
  }
}
