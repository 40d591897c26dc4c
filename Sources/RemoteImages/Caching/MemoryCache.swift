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
