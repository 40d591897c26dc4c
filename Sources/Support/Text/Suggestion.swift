/// The candidate nearest to what was typed, if it is near enough to be a slip: at most a third of its
/// length in changes. Of two equally near ones the first in the list is taken.
public func nearest(to typed: String, among candidates: [String]) -> String? {
  let measured = candidates.map { (text: $0, distance: editDistance(typed.lowercased(), $0.lowercased())) }
  guard let best = measured.min(by: { $0.distance < $1.distance }) else { return nil }
  let allowance = max(1, max(best.text.count, typed.count) / 3)
  return best.distance <= allowance && best.distance < best.text.count ? best.text : nil
}

/// How many insertions, deletions, replacements and swaps of neighbours turn one text into the other.
private func editDistance(_ first: String, _ second: String) -> Int {
  let a = Array(first.unicodeScalars.prefix(64))
  let b = Array(second.unicodeScalars.prefix(64))
  var older: [Int] = []
  var previous = Array(0...b.count)
  for i in a.indices {
    var current = [i + 1]
    for j in b.indices {
      let replaced = previous[j] + (a[i] == b[j] ? 0 : 1)
      var best = min(replaced, previous[j + 1] + 1, current[j] + 1)
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, older[j - 1] + 1) }
      current.append(best)
    }
    older = previous
    previous = current
  }
  return previous[b.count]
}
