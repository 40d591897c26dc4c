import Czlib

/// Whether a workbook is whole. libxlsxwriter does not notice that the disk is full: it leaves out what did not fit and
/// says that all went well. So what it made is read once more.
struct WorkbookCheck {
  /// The workbook, which is a zip.
  let bytes: [UInt8]

  /// Whether every part ends as it begins, a sheet has so many rows, and the picture, if there is to be one, is there.
  func isWhole(sheet name: String, rows: Int, picture: [UInt8]? = nil) -> Bool {
    guard let entries else { return false }
    var found: Int?
    var hasPicture = picture == nil
    for entry in entries {
      guard let part = read(entry) else { return false }
      if let picture, entry.name.hasPrefix("xl/media/") {
        hasPicture = part.endsAs(picture)
      } else {
        guard part.isEnded else { return false }
      }
      if entry.name == name { found = part.rows }
    }
    return hasPicture && found == rows
  }

  private struct Entry {
    let name: String
    let data: Range<Int>
  }

  /// What the zip's directory lists; nil where it is none.
  private var entries: [Entry]? {
    // The directory's end is the end of the file, since there is no comment behind it.
    let end = bytes.count - 22
    guard end >= 0, number(end, 4) == 0x0605_4B50 else { return nil }
    var position = number(end + 16, 4)
    var entries: [Entry] = []
    for _ in 0..<number(end + 10, 2) {
      guard number(position, 4) == 0x0201_4B50 else { return nil }
      let (size, nameLength) = (number(position + 20, 4), number(position + 28, 2))
      let local = number(position + 42, 4)
      guard position + 46 + nameLength <= end, number(local, 4) == 0x0403_4B50 else { return nil }
      let start = local + 30 + number(local + 26, 2) + number(local + 28, 2)
      guard start + size <= end else { return nil }
      let name = String(decoding: bytes[position + 46..<position + 46 + nameLength], as: UTF8.self)
      entries.append(Entry(name: name, data: start..<start + size))
      position += 46 + nameLength + number(position + 30, 2) + number(position + 32, 2)
    }
    return entries
  }

  /// A number whose lowest byte comes first; 0 beyond the end, which is no signature.
  private func number(_ position: Int, _ count: Int) -> Int {
    guard position >= 0, position + count <= bytes.count else { return 0 }
    return bytes[position..<position + count].reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// Inflates a part; nil where it cannot be.
  private func read(_ entry: Entry) -> WorkbookPart? {
    var stream = z_stream()
    // A stream without a header, as a zip has them.
    guard inflateInit2_(&stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      return nil
    }
    defer { inflateEnd(&stream) }
    var part = WorkbookPart()
    let result = bytes[entry.data].withUnsafeBytes { data in
      withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1 << 16) { room in
        stream.next_in = UnsafeMutablePointer(
          mutating: data.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.avail_in = UInt32(data.count)
        var result = Z_OK
        while result == Z_OK {
          stream.next_out = room.baseAddress
          stream.avail_out = UInt32(room.count)
          result = inflate(&stream, Z_NO_FLUSH)
          part.take(UnsafeBufferPointer(rebasing: room[..<(room.count - Int(stream.avail_out))]))
        }
        return result
      }
    }
    return result == Z_STREAM_END ? part : nil
  }
}

/// What has to be known of a part of a workbook, which is XML, or a picture.
private struct WorkbookPart {
  /// How many rows it has.
  private(set) var rows = 0
  private var count = 0
  private var head: [UInt8] = []
  private var tail: [UInt8] = []
  private var matched = 0

  private static let kept = 256
  private static let row = Array("<row ".utf8)

  mutating func take(_ bytes: UnsafeBufferPointer<UInt8>) {
    count += bytes.count
    if head.count < Self.kept { head += bytes.prefix(Self.kept - head.count) }
    tail = Array((tail + bytes.suffix(Self.kept)).suffix(Self.kept))
    // Text is escaped: this stands only where a row begins.
    for byte in bytes {
      matched = byte == Self.row[matched] ? matched + 1 : byte == Self.row[0] ? 1 : 0
      guard matched == Self.row.count else { continue }
      rows += 1
      matched = 0
    }
  }

  /// Whether it is as long as other bytes, and ends as they do.
  func endsAs(_ bytes: [UInt8]) -> Bool {
    count == bytes.count && tail.elementsEqual(bytes.suffix(Self.kept))
  }

  /// Whether it ends with the end of the element with which it begins, behind the declaration.
  var isEnded: Bool {
    let text = String(decoding: head, as: UTF8.self)
    guard let declaration = text.firstRange(of: "?>"),
      let start = text[declaration.upperBound...].firstIndex(of: "<")
    else { return false }
    let name = text[text.index(after: start)...].prefix { !" >/\n".contains($0) }
    // One part has a line's end behind it.
    let end = tail.last == UInt8(ascii: "\n") ? tail.dropLast() : tail[...]
    return String(decoding: end, as: UTF8.self).hasSuffix("</\(name)>")
  }
}
