/// The last look at the markup of a page before it is sent. Long words may be broken behind their separators and nowhere
/// else, so that a name, an address or an id is read in pieces that belong together; and links lead below the path under
/// which a proxy serves the pages.
///
/// What a page shows of others is escaped when it is interpolated (`HTML`): a `<` begins a tag of ours, and a `"` stands
/// around an attribute of ours. So it is enough to tell tags from text.
struct PageMarkup {
  /// Before every path, without a slash at its end; empty where the pages are at the root.
  var basePath = ""

  /// A word has as many letters at most before it may be broken: in a cell, and elsewhere, where there is more room.
  private static let (longestInCell, longest) = (12, 32)
  /// So many letters without a separator are no word: a key, or a number.
  private static let longestPart = 20

  /// Whose text is no text of the page, or has no room for a break.
  private static let opaque: Set<String> = ["svg", "title", "style", "script", "textarea", "option"]
  private static let cells: Set<String> = ["td", "th", "dd"]
  private static let links = [" href=\"/", " action=\"/", " formaction=\"/", " src=\"/"].map {
    Array($0.utf8)
  }

  /// The page as it is sent.
  func finished(_ markup: String) -> [UInt8] {
    var out: [UInt8] = []
    let bytes = Array(markup.utf8)
    out.reserveCapacity(bytes.count + bytes.count / 8)
    var at = 0
    var (skipped, cell): (String?, String?)
    while at < bytes.count {
      guard bytes[at] == UInt8(ascii: "<") else {
        let end = bytes[at...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
        if skipped == nil {
          put(bytes[at..<end], isInCell: cell != nil, into: &out)
        } else {
          out += bytes[at..<end]
        }
        at = end
        continue
      }
      let end = bytes[at...].firstIndex(of: UInt8(ascii: ">")).map { $0 + 1 } ?? bytes.count
      let tag = bytes[at..<end]
      let name = String(
        decoding: tag.dropFirst().prefix { $0 != 0x20 && $0 != 0x3E && $0 != 0x0A }, as: UTF8.self)
      if let open = skipped {
        if name == "/" + open { skipped = nil }
      } else if Self.opaque.contains(name) {
        skipped = name
      } else if let open = cell {
        if name == "/" + open { cell = nil }
      } else if Self.cells.contains(name) {
        cell = name
      }
      place(tag, into: &out)
      at = end
    }
    return out
  }

  /// A tag whose links lead below the base path.
  private func place(_ tag: ArraySlice<UInt8>, into out: inout [UInt8]) {
    guard !basePath.isEmpty else {
      out += tag
      return
    }
    var at = tag.startIndex
    while at < tag.endIndex {
      if let link = Self.links.first(where: { tag[at...].starts(with: $0) }) {
        out += link.dropLast() + Array(basePath.utf8)
        at += link.count - 1
      } else {
        out.append(tag[at])
        at += 1
      }
    }
  }

  /// Text, word by word.
  private func put(_ text: ArraySlice<UInt8>, isInCell: Bool, into out: inout [UInt8]) {
    var word = text.startIndex
    while word < text.endIndex {
      let end = text[word...].firstIndex { $0 == 0x20 || $0 == 0x0A } ?? text.endIndex
      put(word: text[word..<end], isInCell: isInCell, into: &out)
      if end < text.endIndex { out.append(text[end]) }
      word = min(end + 1, text.endIndex)
    }
  }

  private func put(word: ArraySlice<UInt8>, isInCell: Bool, into out: inout [UInt8]) {
    let longest = isInCell ? Self.longestInCell : Self.longest
    let signs = word.count > longest ? Self.signs(word) : []
    guard signs.count > longest else {
      // Browsers break behind a hyphen, in a date and a short name too. What is shorter has room everywhere.
      let isKept = isInCell && word.count > 6 && word.dropLast().contains(UInt8(ascii: "-"))
      return out += isKept ? Array("<span class=\"word\">".utf8) + word + Array("</span>".utf8) : Array(word)
    }
    var length = 0
    for (index, sign) in signs.enumerated() {
      out += sign
      length += 1
      guard index + 1 < signs.count else { return }
      // What a file's name ends in stays with its last part: `throat-` and `89.jpg`.
      let isBeforeEnding = signs.count - index <= 5 && sign.first == UInt8(ascii: ".")
      let isEnd = Self.isSeparator(sign) && !Self.isSeparator(signs[index + 1]) && !isBeforeEnding
      if (isEnd && length > 2) || length >= Self.longestPart {
        out += Array("<wbr>".utf8)
        length = 0
      }
    }
  }

  /// What is read as one sign: a character of UTF-8, or one that is written as `&amp;`.
  private static func signs(_ word: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    var signs: [ArraySlice<UInt8>] = []
    var start = word.startIndex
    while start < word.endIndex {
      var end = start + 1
      if word[start] == UInt8(ascii: "&") {
        end = word[start...].firstIndex(of: UInt8(ascii: ";")).map { $0 + 1 } ?? word.endIndex
      } else {
        while end < word.endIndex, word[end] & 0xC0 == 0x80 { end += 1 }
      }
      signs.append(word[start..<end])
      start = end
    }
    return signs
  }

  /// Whether it is punctuation, behind which a word may be broken.
  private static func isSeparator(_ sign: ArraySlice<UInt8>) -> Bool {
    guard let byte = sign.first, byte < 0x80 else { return false }
    return !(0x30...0x39).contains(byte) && !(0x41...0x5A).contains(byte) && !(0x61...0x7A).contains(byte)
  }
}
