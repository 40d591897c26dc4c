import AnalysisCore

/// One image that a submit was asked for.
struct SubmitItem: Sendable, Equatable {
  enum Source: Sendable, Equatable {
    /// A file to be read when its turn comes.
    case file(String)
    /// Bytes that are here already.
    case bytes([UInt8])
    /// Nothing that could be submitted, and why.
    case none(ItemRefusal)
  }

  /// How the person who submits knows it: the path as given, or the manifest's line.
  let name: String
  let source: Source
  /// Nil only where nothing can be submitted.
  let user: String?
  /// Nil only where nothing can be submitted.
  let kind: AnalysisKind?
  let priority: Priority
  /// Seconds since 1970.
  let runAt: Double?
  /// Seconds since 1970.
  let expiresAt: Double?
  let key: String
}

/// Why one image was not submitted.
struct ItemRefusal: Sendable, Equatable {
  /// A stable word for programs.
  let code: String
  /// What happened.
  let sentence: String
  /// What to do about it.
  let advice: String?
  /// Whether the user's monthly limit is the reason.
  var isQuota = false
  /// The limit that was reached, where one was.
  var limit: Int?
  /// How much of it was in use.
  var used: Int?
}
