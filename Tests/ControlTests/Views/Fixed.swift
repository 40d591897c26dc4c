import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

/// Values that snapshots are made of.
enum Fixed {
  /// 2026-10-01T00:00:00.250Z.
  static let moment = 1_790_812_800.25

  static func month(_ text: String = "2026-10") throws -> Period {
    try #require(Period(text))
  }

  /// What people who do not watch are shown: no colours, as wide as needed.
  static func text(_ response: some Presentable, width: Int? = nil) -> String {
    response.text(width: width, paint: Paint(false))
  }

  static func json(_ response: some Presentable) -> String { response.json.json }
}
