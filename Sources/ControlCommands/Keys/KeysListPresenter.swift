import CommandLineTool
import Formatting

/// Shows keys by their numbers, never a key.
enum KeysListPresenter: Presenter {
  static func json(_ response: KeysListResponse) -> JSONValue {
    [
      "keys": .array(
        response.keys.map { key in
          [
            "key": .string(key.id), "created": .time(key.createdAt), "current": .bool(key.isCurrent),
            "in_file": .bool(!key.isMissing), "images": .count(key.images),
          ]
        }),
      "clear_images": .count(response.clear),
    ]
  }

  static func text(_ response: KeysListResponse, width: Int?, paint: Paint) -> String {
    var table = Table([
      .init("KEY"), .init("MADE"), .init("CURRENT"), .init("IMAGES", alignment: .right),
    ])
    for key in response.keys {
      table.add([
        Cell(key.id), key.isMissing ? Cell("not in the file", .red) : Cell(Moment.short(key.createdAt)),
        key.isCurrent ? Cell("yes", .green) : Cell("no", .dim), Cell(String(key.images)),
      ])
    }
    return table.render(width: width, paint: paint) + "In plaintext: \(response.clear)\n"
  }
}
