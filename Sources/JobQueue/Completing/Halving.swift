/// The parts in which a call for many items is made: all of them at first, halves of what was refused.
struct Halving<Item> {
  // The first part is taken from the end, so that parts are applied in the order given.
  private var parts: [ArraySlice<Item>]

  init(_ items: [Item]) {
    parts = items.isEmpty ? [] : [items[...]]
  }

  /// The next part to make the call for.
  mutating func next() -> ArraySlice<Item>? {
    parts.popLast()
  }

  /// Takes a refused part back in two halves; an item that stands alone is answered instead.
  mutating func split(_ part: ArraySlice<Item>) -> Item? {
    guard part.count > 1 else { return part.first }
    let middle = part.startIndex + part.count / 2
    parts.append(part[middle...])
    parts.append(part[..<middle])
    return nil
  }
}
