public import AnalysisCore

/// An analysis that the backend keeps with an account.
public struct SavedAnalysis: Sendable, Equatable {
  /// The backend's id of it, which need not be the id under which it was sent.
  public var id: String
  /// What was analysed.
  public var kind: AnalysisKind
  /// What was found.
  public var conditions: [Condition]
  /// When it was saved, in seconds since 1970; nil when the backend does not say.
  public var createdAt: Double?

  init(_ fields: FieldReader, normalIDs: Set<String>) throws(DecodingFailure) {
    id = try fields.requiredIdentifier("id")
    kind = try AnalysisDecoder.kind(fields)
    conditions = try AnalysisDecoder.conditions(fields, normalIDs)
    createdAt = fields.time("created_at", "timestamp")
  }
}
