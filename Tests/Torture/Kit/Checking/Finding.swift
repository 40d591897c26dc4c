/// What one check came to.
struct Finding: Sendable, Equatable {
  /// The invariant or promise, by name.
  let rule: String
  /// What it says, in a few words.
  let promise: String
  /// What breaks it, one in each; none when it holds.
  let broken: [String]

  init(_ rule: String, _ promise: String, broken: [String] = []) {
    self.rule = rule
    self.promise = promise
    self.broken = broken
  }

  var holds: Bool { broken.isEmpty }
}
