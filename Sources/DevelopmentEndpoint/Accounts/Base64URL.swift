import FoundationEssentials

/// Base64 with the alphabet of URLs and without padding, as the parts of a token are written.
enum Base64URL {
  static func encode(_ bytes: some Sequence<UInt8>) -> String {
    var text = ""
    for character in Data(bytes).base64EncodedString() {
      switch character {
      case "+": text.append("-")
      case "/": text.append("_")
      case "=": break
      default: text.append(character)
      }
    }
    return text
  }

  static func decode(_ text: some StringProtocol) -> [UInt8]? {
    var standard = ""
    for character in text {
      switch character {
      case "-": standard.append("+")
      case "_": standard.append("/")
      case "+", "/", "=": return nil
      default: standard.append(character)
      }
    }
    standard += String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
    return Data(base64Encoded: standard).map { [UInt8]($0) }
  }
}
