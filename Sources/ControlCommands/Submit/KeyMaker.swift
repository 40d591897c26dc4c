import System

/// Gives each image of a run its idempotency key.
///
/// The keys follow from the run's key and the files' names alone, so that the same command with the same
/// `--key` submits only what is missing.
struct KeyMaker {
  private let runKey: String
  private let isSingle: Bool
  private var occurrences: [String: Int] = [:]

  /// `isSingle`: the run's key is the only image's.
  init(runKey: String, isSingle: Bool) {
    self.runKey = runKey
    self.isSingle = isSingle
  }

  /// The key of the next image of a user. A file that is named twice is meant twice: the second has a key of
  /// its own.
  mutating func key(user: String, name: String) -> String {
    if isSingle { return runKey }
    let identity = "\(user)\u{0}\(name)"
    let occurrence = occurrences[identity, default: 0] + 1
    occurrences[identity] = occurrence
    let digest = SHA256.digest(of: Array("\(identity)\u{0}\(occurrence)".utf8))
    return "\(runKey):\(Hexadecimal.text(of: digest.prefix(16)))"
  }
}
