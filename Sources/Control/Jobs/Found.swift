/// A row of a search that may end before it has found all: what it has found, or in the last row where it ended.
enum Found<Item: Decodable & Sendable, End: Decodable & Sendable>: Decodable, Sendable {
  case item(Item), end(End)

  private enum CodingKeys: CodingKey { case createdAt, item, end }

  init(from decoder: any Decoder) throws {
    let row = try decoder.container(keyedBy: CodingKeys.self)
    self =
      try row.decodeNil(forKey: .createdAt)
      ? .end(row.decode(End.self, forKey: .end)) : .item(row.decode(Item.self, forKey: .item))
  }

  var item: Item? { if case .item(let item) = self { item } else { nil } }
  var end: End? { if case .end(let end) = self { end } else { nil } }
}
