public import AnalysisCore
public import HTTPTransfer

/// How an analysis call ended.
public enum CallOutcome: Sendable {
  /// With an analysis.
  case success(CallAnswer)
  /// Without one.
  case failure(CallFailure)
}

/// An analysis and how it was had.
public struct CallAnswer: Sendable {
  /// The analysis.
  public var analysis: Analysis
  /// The endpoint's name.
  public var endpoint: String
  /// When what happened, of the request that was answered.
  public var timing: Timing
  /// How many bytes that request sent.
  public var sentBytes: Int
  /// Whether a kept-alive connection served it.
  public var connectionReused: Bool
  /// How many requests were made: two when the token had ended.
  public var calls: Int
}
