import CommandLineTool
import Images
import Support

/// `analysisctl keys rotate`.
enum KeysRotateCommand {
  static let command = ControlCommand(
    "rotate", abstract: "Put every encrypted image, and the secrets of webhooks, under the current key.",
    discussion: """
      Each image's own key is decrypted here and encrypted under the current key; the images themselves stay as \
      they are, and those in plaintext stay in plaintext. Workers and submits go on meanwhile, if the workers have \
      the current key already.

      A thousand images are written at a time: whatever ends the command, what was written holds, and the same \
      command does the rest. Exit code 4 when an image could not be put under the current key: its own key is \
      missing from the file, or was changed in the database. What was written is recorded in the audit, with the keys \
      of before.
      """,
    examples: [
      Example("analysisctl keys rotate --key-file /etc/analysis/image.keys", "After keys new."),
      Example("analysisctl keys rotate --key-file /etc/analysis/image.keys --json", "For a program."),
    ],
    inputs: [ReasonOption.reason],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let ring = try await KeyFileOption.readRequired(context)
    return try await context.withSession { session in
      let rotation = KeyRotation(database: session.database, keys: ring, actor: try session.actor)
      let bar = ProgressBar("images", total: try await rotation.total(), console: session.console)
      let response = try await rotation.run { bar.advance(by: $0) }
      bar.finish()
      let webhooks = try await rotation.rewrapWebhooks()
      if webhooks > 0 {
        session.console.say("The secrets of \(webhooks) webhooks are under the current key.")
      }
      try session.view.show(response)
      return response.failures.isEmpty ? .done : .refused
    }
  }
}

/// What a rotation came to.
struct KeysRotateResponse: Sendable, Equatable, Presentable {
  /// Why images could not be put under the current key.
  struct Failure: Sendable, Equatable {
    /// What happened and what to do.
    let message: String
    /// To how many.
    var count: Int
    /// One of them.
    let example: Int64
  }

  /// The key under which they are now.
  let current: KeyID
  /// How many were put under it.
  var rewrapped = 0
  /// What could not be, by cause.
  var failures: [Failure] = []
  /// How many are under other keys in the end: those that could not be, and what came or was held meanwhile.
  var left = 0

  /// How many could not be put under the current key.
  var failed: Int { failures.reduce(0) { $0 + $1.count } }

  var json: JSONValue {
    [
      "current": .string(current.description), "rewrapped": .count(rewrapped),
      "left": .count(left),
      "failures": .array(
        failures.map { failure in
          [
            "images": .count(failure.count), "example": .string(String(failure.example)),
            "message": .string(failure.message),
          ]
        }),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let first = "\(rewrapped) images put under key \(current)\n"
    let lines = failures.map { failure in
      paint.red("\(failure.count) images could not be (one is image \(failure.example))")
        + ": \(printable(failure.message))\n"
    }
    let others = left - failed
    let rest =
      others > 0 ? "\(others) more are under other keys by now: run the command again for them\n" : ""
    return first + lines.joined() + rest
  }
}
