@testable import Images

/// The chunks of a PNG, to see what is left and to make files of.
struct PNGParts {
  /// A chunk, whole: its length, name, content and checksum.
  struct Chunk: Equatable {
    let bytes: [UInt8]

    var name: String { String(decoding: bytes[4..<8], as: UTF8.self) }
    var content: [UInt8] { Array(bytes[8..<(bytes.count - 4)]) }
    /// Whether the checksum is that of name and content.
    var isSound: Bool { self == Chunk(name, content) }

    init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    init(_ name: String, _ content: [UInt8] = []) {
      let checked = Array(name.utf8) + content
      let sum = checked.withUnsafeBytes { CRC32.of($0) }
      bytes = Self.big(UInt32(content.count)) + checked + Self.big(sum)
    }

    private static func big(_ number: UInt32) -> [UInt8] {
      withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
  }

  var chunks: [Chunk] = []
  /// Bytes behind the end.
  var trailing: [UInt8] = []

  init(_ file: [UInt8]) {
    var rest = file.dropFirst(PNGStructure.signature.count)
    while rest.count >= 12, chunks.last?.name != "IEND" {
      let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      chunks.append(Chunk(rest.prefix(12 + length)))
      rest = rest.dropFirst(12 + length)
    }
    trailing = Array(rest)
  }

  /// The file.
  var bytes: [UInt8] { PNGStructure.signature + chunks.flatMap(\.bytes) + trailing }

  var names: [String] { chunks.map(\.name) }

  /// The data chunks.
  var data: [Chunk] { chunks.filter { $0.name == "IDAT" } }

  /// Puts chunks before the first of a name.
  mutating func insert(_ new: [Chunk], before name: String) {
    chunks.insert(contentsOf: new, at: names.firstIndex(of: name) ?? chunks.endIndex)
  }

  /// Puts the same data into other data chunks.
  mutating func cutData(_ pieces: ([UInt8]) -> [[UInt8]]) {
    let content = data.flatMap(\.content)
    let start = names.firstIndex(of: "IDAT") ?? chunks.endIndex
    chunks.removeAll { $0.name == "IDAT" }
    chunks.insert(contentsOf: pieces(content).map { Chunk("IDAT", $0) }, at: start)
  }
}
