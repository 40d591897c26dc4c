import Formatting

/// Makes text of a foreign server fit to be stored and logged: bounded, without control characters, and
/// without what looks like a token, a password, an e-mail address or a name in a field.
enum Redaction {
  static let messageLimit = 300
  static let excerptLimit = 200

  /// A message.
  static func message(_ text: String) -> String {
    // Cut generously first, so that a huge text costs little, and exactly after the replacements.
    printable(redacted(oneLine(String(text.unicodeScalars.prefix(4 * messageLimit)))), limit: messageLimit)
  }

  /// The beginning of a body. More than is shown is looked at, so that a token is known by its whole length
  /// even where the end cuts it.
  static func excerpt(_ body: [UInt8]) -> String? {
    guard !body.isEmpty else { return nil }
    let beginning = String(decoding: body.prefix(4 * excerptLimit), as: UTF8.self)
    return printable(redacted(oneLine(beginning)), limit: excerptLimit)
  }

  private static func oneLine(_ text: String) -> String {
    printable(text).split(separator: " ").joined(separator: " ")
  }
}

// MARK: - What is replaced

extension Redaction {
  private static let replacement = "[redacted]"

  /// Fields whose value is never shown, compared without case, `-` and `_`.
  private static let secretNames: Set<String> = [
    "token", "accesstoken", "refreshtoken", "idtoken", "paymenttoken", "password", "passwd", "secret",
    "apikey", "authorization", "cookie", "setcookie", "session", "sessionid", "email", "mail", "username",
    "phone",
  ]

  /// Fields that hold a person in data, but are also words of a sentence: "field name: image".
  private static let personNames: Set<String> = [
    "name", "firstname", "lastname", "fullname", "user", "userid",
  ]

  private static let delimiters = Set(" \"'`,;:=<>(){}[]&?|\\/".unicodeScalars)

  /// Goes through the words of a text; a word is replaced for its own look or for the name before it.
  private static func redacted(_ text: String) -> String {
    let scalars = Array(text.unicodeScalars)
    var result = String.UnicodeScalarView()
    var index = 0
    var lastWord = ""
    var between = ""
    while index < scalars.count {
      if delimiters.contains(scalars[index]) {
        let quote = scalars[index]
        if quote == "\"", between.contains(":"), isSecretName(lastWord, between) {
          // A quoted value may have blanks: all of it goes, to its closing quote.
          let end = scalars[(index + 1)...].firstIndex(of: "\"") ?? scalars.count
          result.append(quote)
          result.append(contentsOf: replacement.unicodeScalars)
          index = end
          (lastWord, between) = ("", "")
          continue
        }
        between.unicodeScalars.append(quote)
        result.append(quote)
        index += 1
        continue
      }
      let end = scalars[index...].firstIndex(where: delimiters.contains) ?? scalars.count
      let word = String(String.UnicodeScalarView(scalars[index..<end]))
      let isValue = (between.contains(":") || between.contains("=")) && isSecretName(lastWord, between)
      let followsBearer = lastWord.lowercased() == "bearer" || lastWord.lowercased() == "basic"
      let isHidden = isValue && word.lowercased() != "bearer" || followsBearer || looksSecret(word)
      result.append(contentsOf: (isHidden ? replacement : word).unicodeScalars)
      (lastWord, between) = (word, "")
      index = end
    }
    return String(result)
  }

  private static func isSecretName(_ word: String, _ between: String) -> Bool {
    let name = word.lowercased().filter { $0 != "-" && $0 != "_" }
    return secretNames.contains(name)
      || personNames.contains(name) && (between.contains("\"") || between.contains("="))
  }

  /// An e-mail address, a JWT, or a long run of letters and digits such as only machines write.
  private static func looksSecret(_ word: String) -> Bool {
    if let at = word.firstIndex(of: "@"), at != word.startIndex, word.index(after: at) != word.endIndex {
      return true
    }
    if word.hasPrefix("eyJ"), word.utf8.count > 10 { return true }
    guard word.utf8.count >= 20 else { return false }
    let isMachineText = word.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
        UInt8(ascii: "+"), UInt8(ascii: "~"):
        true
      default: false
      }
    }
    return isMachineText && word.utf8.contains { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}
