import CommandLineTool
import Formatting
import ImageEncryption

/// Says how many images are under the current key now, and what was left.
enum KeysRotatePresenter: Presenter {
  static func json(_ response: KeysRotateResponse) -> JSONValue {
    [
      "current": .string(response.current.description), "rewrapped": .count(response.rewrapped),
      "left": .count(response.left),
      "failures": .array(
        response.failures.map { failure in
          [
            "images": .count(failure.count), "example": .string(String(failure.example)),
            "message": .string(failure.words),
          ]
        }),
    ]
  }

  static func text(_ response: KeysRotateResponse, width: Int?, paint: Paint) -> String {
    let first = "\(response.rewrapped) images put under key \(response.current)\n"
    let failures = response.failures.map { failure in
      paint.red("\(failure.count) images could not be (one is image \(failure.example))")
        + ": \(printable(failure.words))\n"
    }
    let others = response.left - response.failed
    let rest =
      others > 0 ? "\(others) more are under other keys by now: run the command again for them\n" : ""
    return first + failures.joined() + rest
  }
}
