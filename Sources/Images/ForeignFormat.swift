/// A format that is not accepted but recognised, so that the refusal can name it.
struct ForeignFormat: Equatable {
  /// The short name: `HEIC`.
  let name: String
  /// The name as it stands after "The file is": `a HEIC picture`.
  let sentence: String
  /// What to do about it.
  let advice: String

  init(_ name: String, _ sentence: String, advice: String = "Save or export it as JPEG, and submit that.") {
    self.name = name
    self.sentence = sentence
    self.advice = advice
  }

  static func picture(_ name: String) -> ForeignFormat {
    ForeignFormat(name, "a \(name) picture")
  }

  static let heic = ForeignFormat(
    "HEIC", "a HEIC picture",
    advice: "Export it as JPEG (an iPhone takes JPEG itself with Settings, Camera, Formats, Most "
      + "Compatible), and submit that.")
  static let avif = ForeignFormat("AVIF", "an AVIF picture")
  static let icon = ForeignFormat("ICO", "an ICO icon")
  static let video = ForeignFormat(
    "video", "a video", advice: "Take a still picture from it, save that as JPEG, and submit it.")
  static let dicom = ForeignFormat("DICOM", "a DICOM medical file")
  static let pdf = ForeignFormat(
    "PDF", "a PDF document", advice: "Export the picture in it as JPEG, and submit that.")
  static let archive = ForeignFormat(
    "ZIP", "a ZIP archive or an office document",
    advice: "Take the pictures out of it, and submit each as JPEG or PNG.")
  static let html = ForeignFormat(
    "HTML", "a web page (HTML)",
    advice: "It may be an error page saved in the picture's place: fetch the picture itself again.")
  static let text = ForeignFormat(
    "text", "text", advice: "Check which file was meant, and submit the picture itself.")
}

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

extension ForeignFormat {
  /// Names what the bytes are, from signatures alone; nil when nothing known is found. Never called for
  /// JPEG or PNG.
  static func detect(_ bytes: UnsafeRawBufferPointer) -> ForeignFormat? {
    isoMedia(bytes) ?? riff(bytes) ?? signature(bytes) ?? textual(bytes)
  }

  /// Formats with a fixed beginning.
  private static let signatures: [(start: [UInt8], format: ForeignFormat)] = [
    (Array("GIF8".utf8), .picture("GIF")),
    ([0x49, 0x49, 0x2A, 0x00], tiff), ([0x4D, 0x4D, 0x00, 0x2A], tiff),
    ([0x49, 0x49, 0x2B, 0x00], tiff), ([0x4D, 0x4D, 0x00, 0x2B], tiff),
    (Array("8BPS".utf8), .picture("Photoshop")),
    ([0xFF, 0x0A], .picture("JPEG XL")),
    ([0, 0, 0, 0x0C, 0x4A, 0x58, 0x4C, 0x20], .picture("JPEG XL")),
    ([0, 0, 0, 0x0C, 0x6A, 0x50, 0x20, 0x20], .picture("JPEG 2000")),
    ([0xFF, 0x4F, 0xFF, 0x51], .picture("JPEG 2000")),
    ([0, 0, 1, 0], .icon), ([0, 0, 2, 0], .icon),
    (Array("%PDF-".utf8), .pdf),
    (Array("%!PS".utf8), .picture("PostScript")),
    (Array("PK\u{03}\u{04}".utf8), .archive),
    ([0x1F, 0x8B], ForeignFormat("gzip", "a compressed file (gzip)", advice: unpack)),
    ([0x37, 0x7A, 0xBC, 0xAF], ForeignFormat("7z", "a 7z archive", advice: unpack)),
    (Array("Rar!".utf8), ForeignFormat("RAR", "a RAR archive", advice: unpack)),
    ([0x1A, 0x45, 0xDF, 0xA3], .video),
    ([0x8A, 0x4D, 0x4E, 0x47], .picture("MNG")), ([0x8B, 0x4A, 0x4E, 0x47], .picture("JNG")),
    ([0x7F, 0x45, 0x4C, 0x46], ForeignFormat("program", "a program", advice: text.advice)),
    (Array("MZ".utf8), ForeignFormat("program", "a program", advice: text.advice)),
    (Array("BM".utf8), .picture("BMP")),
  ]

  private static let tiff = ForeignFormat("TIFF", "a TIFF picture or a camera's raw file")
  private static let unpack = "Unpack it, and submit each picture in it as JPEG or PNG."

  private static func signature(_ bytes: UnsafeRawBufferPointer) -> ForeignFormat? {
    if let found = signatures.first(where: { bytes.starts(with: $0.start) }) { return found.format }
    let dicomMark = 128
    if bytes.count >= dicomMark + 4, bytes[dicomMark..<dicomMark + 4].elementsEqual("DICM".utf8) {
      return .dicom
    }
    return nil
  }

  /// The ISO base media family: a box `ftyp` whose brands tell HEIF and AVIF pictures from videos.
  private static func isoMedia(_ bytes: UnsafeRawBufferPointer) -> ForeignFormat? {
    guard bytes.count >= 12, bytes[4..<8].elementsEqual("ftyp".utf8) else { return nil }
    let boxEnd = min(bytes.count, Int(bytes[2]) << 8 | Int(bytes[3]), 256)
    var brands = [String(decoding: bytes[8..<12], as: UTF8.self)]
    // The major brand, its version, and then the brands it is compatible with.
    for start in stride(from: 16, to: max(boxEnd - 3, 16), by: 4) {
      brands.append(String(decoding: bytes[start..<start + 4], as: UTF8.self))
    }
    if brands.contains(where: { ["avif", "avis"].contains($0) }) { return .avif }
    if brands.contains(where: { $0.hasPrefix("hei") || $0.hasPrefix("hev") }) { return .heic }
    if brands.contains(where: { ["mif1", "msf1", "mif2"].contains($0) }) {
      return ForeignFormat("HEIF", "a HEIF picture")
    }
    if brands[0] == "crx " { return tiff }
    return .video
  }

  private static func riff(_ bytes: UnsafeRawBufferPointer) -> ForeignFormat? {
    guard bytes.count >= 12, bytes.starts(with: "RIFF".utf8) else { return nil }
    if bytes[8..<12].elementsEqual("WEBP".utf8) { return .picture("WebP") }
    if bytes[8..<12].elementsEqual("AVI ".utf8) { return .video }
    return nil
  }
}
