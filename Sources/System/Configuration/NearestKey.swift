/// The known key nearest to a misspelt one, if it is near enough to be meant: at most a third of it differs.
public func nearestKey(to typed: String, among keys: Set<String>) -> String? {
  let typed = Array(typed.lowercased().unicodeScalars.prefix(64))
  let measured = keys.sorted().map { key in
    (key: key, distance: distance(typed, Array(key.lowercased().unicodeScalars)))
  }
  guard let best = measured.min(by: { $0.distance < $1.distance }) else { return nil }
  return best.distance <= max(1, best.key.count / 3) ? best.key : nil
}

/// Insertions, deletions and replacements that turn one text into the other.
private func distance(_ first: [Unicode.Scalar], _ second: [Unicode.Scalar]) -> Int {
  var previous = Array(0...second.count)
  for (i, scalar) in first.enumerated() {
    var current = [i + 1]
    for (j, other) in second.enumerated() {
      let replaced = previous[j] + (scalar == other ? 0 : 1)
      current.append(min(replaced, previous[j + 1] + 1, current[j] + 1))
    }
    previous = current
  }
  return previous[second.count]
}
