import CommandLineTool
import FoundationEssentials
import Images
import Support

/// `analysisctl keys new`.
enum KeysNewCommand {
  static let command = ControlCommand(
    "new", abstract: "Make a key, under which images are encrypted from now on.",
    discussion: """
      The key is added to the file and is its current one; those that are there stay. A file that is not there is \
      made, for its owner alone (mode 0600). The database is not asked.
      """,
    examples: [
      Example("analysisctl keys new --key-file /etc/analysis/image.keys", "Make the file, or a newer key.")
    ],
    exitCodes: [.done, .usage, .unreadableInput, .tryLater, .permission]
  ) { context in
    let path = try KeyFileOption.required(context)
    let now = Date().timeIntervalSince1970
    let changing = Task(executorPreference: globalConcurrentExecutor) { try KeyFile.addKey(path, at: now) }
    try context.view.show(KeyFileResponse(path: path, ring: try await changing.value))
    return .done
  }
}

/// What a key file has after it was changed.
struct KeyFileResponse: Sendable, Equatable, Presentable {
  let path: String
  let current: KeyID
  let keys: [KeyID]
  /// The key that was taken out; nil when one was added.
  let removed: KeyID?

  init(path: String, ring: KeyRing, removed: KeyID? = nil) {
    self.path = path
    current = ring.currentID
    keys = ring.ids
    self.removed = removed
  }

  var json: JSONValue {
    [
      "file": .string(path), "current": .string(current.description),
      "removed": .text(removed?.description),
      "keys": .array(keys.map { .string($0.description) }),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let path = printable(self.path)
    let keys = self.keys.count == 1 ? "1 key" : "\(self.keys.count) keys"
    if let removed { return "\(path): key \(removed) is removed, \(keys) left\n" }
    return "\(path): key \(current) is made and current, \(keys) in all\n"
  }
}
