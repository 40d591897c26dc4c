import Formatting

/// The body of a successful analysis, with the parts that the unusual answers change.
struct AnalysisAnswer {
  /// How the time is written.
  enum Stamp { case fractional, seconds, createdAt }

  var id: String?
  var kind: AnalysisKind
  var stamp = Stamp.fractional
  /// A JSON array, or nil for an answer without it.
  var conditions: [UInt8]?
  /// The id of the account that called; nil for a call without one.
  var user: String?
  var imageCount: Int
  var duration: Duration
  /// More members, each with a comma before it.
  var extra = ""

  /// Whether the conditions come from the picture's pixels.
  var isDecoded = true

  /// Says what computed the conditions.
  private var source: String {
    isDecoded
      ? "stand-in: colour statistics of the picture, not a medical model"
      : "stand-in: numbers drawn from the image's digest, not a medical model"
  }

  /// - Parameter now: seconds since 1970.
  func json(now: Double) -> [UInt8] {
    var text = JSONWriter()
    text.raw("{")
    if let id {
      text.raw("\"id\":")
      text.string(id)
      text.raw(",")
    }
    text.raw("\"type\":\"\(kind.rawValue)\",")
    switch stamp {
    case .fractional: text.raw("\"timestamp\":\"\(UnixTime(secondsSince1970: now).rfc3339)\"")
    case .seconds: text.raw("\"timestamp\":\((now * 1000).rounded(.down) / 1000)")
    case .createdAt: text.raw("\"created_at\":\"\(UnixTime(secondsSince1970: now).rfc3339Seconds)\"")
    }
    if let conditions {
      text.raw(",\"conditions\":")
      text.raw(conditions)
    }
    if let user {
      text.raw(",\"user\":")
      text.string(user)
    } else {
      text.raw(",\"user_id\":\"anonymous\"")
    }
    text.raw(",\"model\":\"stand-in-\(isDecoded ? "colour-statistics" : "digest")\"")
    text.raw(extra)
    let milliseconds = (duration.inSeconds * 1e6).rounded() / 1e3
    text.raw(",\"debug_info\":{\"data_source\":\"\(source)\",\"image_data_length\":\(imageCount)")
    text.raw(",\"processing_time\":\(milliseconds)}}")
    return text.bytes
  }
}
