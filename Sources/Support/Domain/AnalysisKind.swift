/// What a photo shows, and so which model analyses it.
public enum AnalysisKind: String, Sendable, CaseIterable, Codable {
  /// A photo of a throat.
  case throat
  /// A photo of an ear.
  case ear

  /// The type's number in the database.
  public var code: Int16 {
    switch self {
    case .throat: 1
    case .ear: 2
    }
  }

  /// The type with a number of the database; nil when there is none.
  public init?(code: Int16) {
    switch code {
    case 1: self = .throat
    case 2: self = .ear
    default: return nil
    }
  }

  /// The name shown to people.
  public var displayName: String {
    switch self {
    case .throat: "Throat"
    case .ear: "Ear"
    }
  }
}
