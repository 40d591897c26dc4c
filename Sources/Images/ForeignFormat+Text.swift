extension ForeignFormat {
  /// How much of a file is looked at to tell text from anything else.
  private static let textProbe = 1_024

  /// HTML, SVG, or plain text: no control characters but white space, and well-formed UTF-8.
  static func textual(_ bytes: UnsafeRawBufferPointer) -> ForeignFormat? {
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) { return .text }
    let probe = Array(bytes.prefix(textProbe))
    let isControl = { (byte: UInt8) in byte == 0x7F || (byte < 0x20 && !(0x09...0x0D).contains(byte)) }
    guard !probe.contains(where: isControl), isUTF8(probe) else { return nil }
    let begin = String(decoding: probe, as: UTF8.self)
      .drop { $0.isWhitespace || $0 == "\u{FEFF}" }.prefix(200).lowercased()
    guard !begin.isEmpty else { return .text }
    if begin.hasPrefix("<svg") || (begin.hasPrefix("<?xml") && begin.contains("<svg")) {
      return .picture("SVG")
    }
    if begin.hasPrefix("<!doctype html") || begin.hasPrefix("<html") || begin.hasPrefix("<head") {
      return .html
    }
    if begin.hasPrefix("data:image/") {
      return ForeignFormat(
        "data URI", "a data URI, that is a picture written as text",
        advice: "Decode it to the picture's own bytes, and submit those.")
    }
    return .text
  }

  /// Whether the bytes are UTF-8, but for a character that the probe's end may have cut.
  private static func isUTF8(_ bytes: [UInt8]) -> Bool {
    (0...3).contains { cut in
      (cut == 0 || bytes.count == textProbe)
        && String(validating: bytes.dropLast(cut), as: UTF8.self) != nil
    }
  }
}
