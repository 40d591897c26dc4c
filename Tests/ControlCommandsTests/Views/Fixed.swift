import AnalysisCore
import CommandLineTool
import Formatting
import Testing

@testable import ControlCommands

/// Values that snapshots are made of.
enum Fixed {
  /// 2026-10-01T00:00:00.250Z.
  static let moment = 1_790_812_800.25

  static func month(_ text: String = "2026-10") throws -> Period {
    try #require(Period(text))
  }

  /// What a presenter shows people who do not watch: no colours, as wide as needed.
  static func text<P: Presenter>(_ response: P.Response, _ presenter: P.Type, width: Int? = nil) -> String {
    P.text(response, width: width, paint: Paint(false))
  }

  static func json<P: Presenter>(_ response: P.Response, _ presenter: P.Type) -> String {
    P.json(response).json
  }
}
