import CommandLineTool
import Formatting
import ImageEncryption

/// What a key file has after it was changed.
struct KeyFileResponse: Sendable, Equatable {
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
}

/// Shows how a key file was changed.
enum KeyFilePresenter: Presenter {
  static func json(_ response: KeyFileResponse) -> JSONValue {
    [
      "file": .string(response.path), "current": .string(response.current.description),
      "removed": .text(response.removed?.description),
      "keys": .array(response.keys.map { .string($0.description) }),
    ]
  }

  static func text(_ response: KeyFileResponse, width: Int?, paint: Paint) -> String {
    let path = printable(response.path)
    let keys = response.keys.count == 1 ? "1 key" : "\(response.keys.count) keys"
    if let removed = response.removed { return "\(path): key \(removed) is removed, \(keys) left\n" }
    return "\(path): key \(response.current) is made and current, \(keys) in all\n"
  }
}
