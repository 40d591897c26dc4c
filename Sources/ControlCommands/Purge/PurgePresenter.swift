import Administration
import AnalysisCore
import CommandLineTool
import Formatting
import JobQueue
import RemoteImages

/// Says what was removed, or would be. Where nobody watches, a run that found nothing says nothing.
enum PurgePresenter: Presenter {
  static func json(_ response: PurgeResponse) -> JSONValue {
    [
      "dry_run": .bool(response.isDry), "complete": .bool(response.report.isComplete),
      "removed": .array(
        response.report.lines.map { line in
          [
            "kind": .string(line.kind.rawValue), "month": .month(line.month), "rows": .integer(line.rows),
            "bytes": .integer(line.bytes), "whole_month": .bool(line.isWholeMonth),
          ]
        } + json(response.cached)),
      "busy_months": .array(response.report.busyMonths.map { .month($0) }),
    ]
  }

  /// Like a line of the database's, but that it is of no month.
  private static func json(_ cached: CacheSweep) -> [JSONValue] {
    guard cached.files > 0 else { return [] }
    return [
      [
        "kind": .string(cache), "month": .null, "rows": .count(cached.files), "bytes": .count(cached.bytes),
        "whole_month": false,
      ]
    ]
  }

  /// What the files of images by URL are called beside the kinds of the database.
  private static let cache = "cache"

  static func text(_ response: PurgeResponse, width: Int?, paint: Paint) -> String {
    let report = response.report
    var text = ""
    if !report.lines.isEmpty || response.cached.files > 0 {
      var table = Table([
        .init("KIND"), .init("MONTH"), .init("ROWS", alignment: .right), .init("BYTES", alignment: .right),
        .init("HOW"),
      ])
      for line in report.lines {
        table.add([
          Cell(line.kind.rawValue), Cell(line.month.description), Cell(line.rows), Cell(line.bytes),
          line.isWholeMonth ? "the whole month" : "by row",
        ])
      }
      if response.cached.files > 0 {
        table.add([Cell(cache), "", Cell(response.cached.files), Cell(response.cached.bytes), "by file"])
      }
      text =
        (response.isDry ? "Would be removed:\n" : "Removed:\n") + table.render(width: width, paint: paint)
    } else if width != nil {
      text = "Nothing is past its time.\n"
    }
    for month in report.busyMonths {
      text += "\(month) \(paint.yellow("left")): its tables were in use; run it again later\n"
    }
    if !report.isComplete { text += "Stopped before the end; the next run goes on.\n" }
    return text
  }
}
