/// Images in memory, bounded in bytes: what was asked for least lately goes first.
struct MemoryCache {
  private struct Entry {
    let bytes: [UInt8]
    let end: Double
  }

  private let limit: Int
  private(set) var byteCount = 0
  private var entries: [String: Entry] = [:]
  private var line = EvictionLine()

  /// A cache of at most so many bytes; 0 keeps nothing.
  init(limit: Int) {
    self.limit = limit
  }

  /// The image of a key, unless its time is over.
  mutating func image(_ key: String, now: Double) -> [UInt8]? {
    guard let entry = entries[key] else { return nil }
    guard entry.end > now else {
      remove(key)
      return nil
    }
    line.putLast(key)
    return entry.bytes
  }

  /// Keeps an image until a time, at the cost of those used least lately.
  mutating func keep(_ key: String, _ bytes: [UInt8], until end: Double) {
    remove(key)
    guard bytes.count <= limit else { return }
    while byteCount + bytes.count > limit, let oldest = line.takeFirst() { remove(oldest) }
    entries[key] = Entry(bytes: bytes, end: end)
    byteCount += bytes.count
    line.putLast(key)
  }

  private mutating func remove(_ key: String) {
    line.remove(key)
    guard let entry = entries.removeValue(forKey: key) else { return }
    byteCount -= entry.bytes.count
  }
}

/// Keys in the order in which they go when there is no room.
struct EvictionLine {
  /// A key that was put last again stands here more than once, and only its present turn counts.
  private var entries: [(key: String, turn: UInt64)] = []
  private var start = 0
  private var turns: [String: UInt64] = [:]
  private var lastTurn: UInt64 = 0

  /// Puts a key behind all others, whether it is here or not.
  mutating func putLast(_ key: String) {
    lastTurn += 1
    turns[key] = lastTurn
    entries.append((key, lastTurn))
    // Entries that count for nothing any more are swept when they are most of the line.
    guard entries.count > 64, entries.count > 4 * turns.count else { return }
    entries = entries[start...].filter { turns[$0.key] == $0.turn }
    start = 0
  }

  /// Takes a key out of the line.
  mutating func remove(_ key: String) {
    turns[key] = nil
  }

  /// Takes the first key out of the line; nil when there is none.
  mutating func takeFirst() -> String? {
    while start < entries.count {
      let entry = entries[start]
      start += 1
      if turns[entry.key] == entry.turn {
        turns[entry.key] = nil
        return entry.key
      }
    }
    return nil
  }
}
