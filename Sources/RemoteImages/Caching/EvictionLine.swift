/// Keys in the order in which they go when there is no room.
struct EvictionLine {
  /// A key that was put last again stands here more than once, and only its present turn counts.
  private var places: [(key: String, turn: UInt64)] = []
  private var start = 0
  private var turns: [String: UInt64] = [:]
  private var lastTurn: UInt64 = 0

  /// Puts a key behind all others, whether it is here or not.
  mutating func putLast(_ key: String) {
    lastTurn += 1
    turns[key] = lastTurn
    places.append((key, lastTurn))
    // Places that count for nothing any more are swept when they are most of the line.
    guard places.count > 64, places.count > 4 * turns.count else { return }
    places = places[start...].filter { turns[$0.key] == $0.turn }
    start = 0
  }

  /// Takes a key out of the line.
  mutating func remove(_ key: String) {
    turns[key] = nil
  }

  /// Takes the first key out of the line; nil when there is none.
  mutating func takeFirst() -> String? {
    while start < places.count {
      let place = places[start]
      start += 1
      if turns[place.key] == place.turn {
        turns[place.key] = nil
        return place.key
      }
    }
    return nil
  }
}
