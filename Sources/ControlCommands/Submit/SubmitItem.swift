import AnalysisCore

/// One image that a submit was asked for.
struct SubmitItem: Sendable, Equatable {
  enum Source: Sendable, Equatable {
    /// A file to be read when its turn comes.
    case file(String)
    /// Bytes that are here already.
    case bytes([UInt8])
    /// What is at an address, fetched when its turn comes.
    case url(String)
    /// Nothing that could be submitted, and why.
    case none(ItemRefusal)
  }

  /// How the person who submits knows it: the path as given, the manifest's line, or the place of an address
  /// among the others with its host. The rest of an address may be a secret and is shown nowhere.
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
  /// What is stored of its name; nil for the name without its folders.
  var storedName: String?

  /// Whether it has to be fetched.
  var isByURL: Bool {
    if case .url = source { true } else { false }
  }
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
