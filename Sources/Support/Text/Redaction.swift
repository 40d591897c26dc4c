/// Makes text of a foreign server fit to be stored and logged, and says which fields of a log line may not be shown:
/// without what looks like a token, a password, an e-mail address or a name in a field. All of it goes by one list.
public enum Redaction {
  /// The most characters of a message.
  static let messageLimit = 300
  /// The most characters of the beginning of a body.
  static let excerptLimit = 200

  /// A message.
  public static func message(_ text: String) -> String {
    // Cut generously first, so that a huge text costs little, and exactly after the replacements.
    printable(redacted(oneLine(String(text.unicodeScalars.prefix(4 * messageLimit)))), limit: messageLimit)
  }

  /// The beginning of a body. More than is shown is looked at, so that a token is known by its whole length
  /// even where the end cuts it.
  public static func excerpt(_ body: [UInt8]) -> String? {
    guard !body.isEmpty else { return nil }
    let beginning = String(decoding: body.prefix(4 * excerptLimit), as: UTF8.self)
    return printable(redacted(oneLine(beginning)), limit: excerptLimit)
  }

  private static func oneLine(_ text: String) -> String {
    printable(text).split(separator: " ").joined(separator: " ")
  }
}

// MARK: - Names

extension Redaction {
  /// Words by which the name of a field says that its value is nobody's business.
  private static let secretWords: Set<String> = [
    "token", "accesstoken", "refreshtoken", "idtoken", "paymenttoken", "password", "passwd", "passphrase",
    "secret",
    "apikey", "authorization", "bearer", "credential", "credentials", "jwt", "cookie", "setcookie", "session",
    "sessionid", "email", "mail", "username", "phone",
  ]

  /// Fields that hold a person in data, but are also words of a sentence: "field name: image".
  private static let personNames: Set<String> = [
    "name", "firstname", "lastname", "fullname", "user", "userid",
  ]

  /// Whether a field of a log line may not be shown: one of the words that its name is made of is on the list, or
  /// all of them together are (`accessToken`, `user_name`, `e-mail`; not `hostname` or `tokens`, which are other words).
  static func hides(_ field: String) -> Bool {
    isSecret(field) || words(of: field).contains("name")
  }

  private static func isSecret(_ name: String) -> Bool {
    let words = words(of: name)
    return words.contains(where: secretWords.contains) || secretWords.contains(words.joined())
  }

  private static func words(of name: String) -> [String] {
    var found: [String] = []
    var word = ""
    var previousWasLower = false
    for character in name {
      if !(character.isLetter || character.isNumber) || (character.isUppercase && previousWasLower) {
        if !word.isEmpty { found.append(word) }
        word = ""
      }
      if character.isLetter || character.isNumber { word += character.lowercased() }
      previousWasLower = character.isLowercase || character.isNumber
    }
    return word.isEmpty ? found : found + [word]
  }
}

// MARK: - What is replaced

extension Redaction {
  private static let replacement = "[redacted]"

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
    isSecret(word)
      || personNames.contains(words(of: word).joined()) && (between.contains("\"") || between.contains("="))
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

  /// Replaces everything from the first double quote to the last by an ellipsis: what libpq and the server quote may
  /// be a part of a connection string, with its password, or a value of a row.
  public static func withoutQuoted(_ text: String) -> String {
    guard let first = text.firstIndex(of: "\""), let last = text.lastIndex(of: "\""), first < last else {
      return text
    }
    return text[..<first] + "\"…\"" + text[text.index(after: last)...]
  }
}
