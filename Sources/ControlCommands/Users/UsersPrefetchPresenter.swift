import CommandLineTool
import Formatting
import RemoteImages

/// Shows what became of prefetched photos. Of their addresses the hosts alone are named.
enum UsersPrefetchPresenter: Presenter {
  static func json(_ response: UsersPrefetchResponse) -> JSONValue {
    [
      "photos": .array(
        response.lines.map { line in
          [
            "user": .string(line.user), "outcome": .string(line.failure == nil ? "ready" : "failed"),
            "reason": .text(line.failure?.code.name), "message": .text(line.failure?.message),
          ]
        }),
      "next": .text(response.next),
    ]
  }

  static func text(_ response: UsersPrefetchResponse, width: Int?, paint: Paint) -> String {
    guard !response.lines.isEmpty else { return "No photos.\n" }
    return response.lines.map { line in
      let user = printable(line.user)
      guard let failure = line.failure else { return "\(paint.green("ready")) \(user)\n" }
      return "\(paint.red("failed")) \(user): \(printable(failure.message))\n"
    }.joined()
  }
}
