import CommandLineTool
import Formatting

/// Says what became of the months. Where nobody watches only what was written is named, so that cron mails
/// nothing on days without news.
enum DuePresenter: Presenter {
  static func json(_ response: DueResponse) -> JSONValue {
    [
      "months": .array(
        response.lines.map { line in
          switch line.outcome {
          case .written(let path, let rows, let sha256):
            [
              "month": .month(line.month), "outcome": "written", "file": .string(path), "rows": .count(rows),
              "sha256": .text(sha256),
            ]
          case .unchanged(let path):
            ["month": .month(line.month), "outcome": "unchanged", "file": .string(path)]
          case .left: ["month": .month(line.month), "outcome": "left"]
          }
        })
    ]
  }

  static func text(_ response: DueResponse, width: Int?, paint: Paint) -> String {
    let isWatched = width != nil
    guard !response.lines.isEmpty else { return isWatched ? "No month is over yet.\n" : "" }
    return response.lines.map { line in
      switch line.outcome {
      case .written(let path, let rows, _):
        "\(line.month) \(paint.green("written")) \(printable(path)) (\(rows) rows)\n"
      case .unchanged(let path): isWatched ? "\(line.month) is there already: \(printable(path))\n" : ""
      case .left: isWatched ? "\(line.month) \(paint.yellow("left")): its time of grace is not over\n" : ""
      }
    }.joined()
  }
}
