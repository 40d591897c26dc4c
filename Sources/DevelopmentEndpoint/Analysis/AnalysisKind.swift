/// What a picture shows, as the upload's `type` names it.
enum AnalysisKind: String, Sendable, CaseIterable {
  case throat
  case ear

  var other: AnalysisKind { self == .throat ? .ear : .throat }
}
