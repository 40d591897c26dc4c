import Testing

@testable import Control
@testable import Support

/// What a view writes for given rows.
enum Written {
  static func bytes(
    _ view: any ReportView, _ columns: [Column], _ rows: [[ReportCell]], zone: String? = nil,
    state: ReportState = .draft
  ) -> [UInt8] {
    var writer = ReportWriter(view, columns: columns)
    var bytes: [UInt8] = []
    writer.begin()
    for row in rows {
      writer.row(to: { bytes += $0 }, { $0 += row })
    }
    writer.end(meta(zone: zone, state: state)) { bytes += $0 }
    return bytes
  }

  static func text(
    _ view: any ReportView, _ columns: [Column], _ rows: [[ReportCell]], zone: String? = nil
  ) -> String {
    String(decoding: bytes(view, columns, rows, zone: zone), as: UTF8.self)
  }

  static func meta(
    zone: String? = nil, state: ReportState = .draft, kind: ReportKind = .usage,
    generatedAt: String = "2020-11-02T03:04:05Z"
  ) -> ReportMeta {
    ReportMeta(
      kind: kind, month: october, zone: zone, state: state, generatedAt: generatedAt,
      scope: UsageScope(hasIdleUsers: true))
  }

  /// October 2020, the month of most tests.
  static var october: Period { period("2020-10") }

  static func period(_ text: String) -> Period {
    guard let period = Period(text) else { preconditionFailure("\(text) is not a month") }
    return period
  }
}
