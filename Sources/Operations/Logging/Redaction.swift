/// Which fields of a log line may not be shown, by their names.
enum Redaction {
  private static let words: Set<String> = [
    "token", "password", "passphrase", "authorization", "email", "mail", "name", "secret", "cookie", "bearer",
    "credential", "credentials", "jwt",
  ]

  /// Whether one of the words that a field's name is made of is on the list: `accessToken`, `user_name`,
  /// `e-mail`; not `hostname` or `tokens`, which are other words.
  static func hides(_ field: String) -> Bool {
    let words = words(of: field)
    return words.contains { Self.words.contains($0) }
      || zip(words, words.dropFirst()).contains { $0 == ("e", "mail") }
  }

  private static func words(of field: String) -> [String] {
    var found: [String] = []
    var word = ""
    var previousWasLower = false
    for character in field {
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
