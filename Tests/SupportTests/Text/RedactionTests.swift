import TestSupport
import Testing

@testable import Support

@Suite("Redaction")
struct RedactionTests {
  private static let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1In0.c2ln"

  @Test(
    "takes out tokens, addresses and names of persons, and leaves the rest",
    arguments: [
      ("User a.b+c@example.org not found", "User [redacted] not found"),
      ("Bearer abc is expired", "Bearer [redacted] is expired"),
      ("Authorization: Bearer abc", "Authorization: Bearer [redacted]"),
      ("token=abc&x=1", "token=[redacted]&x=1"),
      ("bad jwt \(jwt)!", "bad jwt [redacted]"),
      ("key 0123456789abcdef01234567 unknown", "key [redacted] unknown"),
      (#"{"token":"abc","error":true}"#, #"{"token":"[redacted]","error":true}"#),
      (#"{"name":"Jane Doe","id":7}"#, #"{"name":"[redacted]","id":7}"#),
      (#"{"refreshToken" : "a b", "message":"no"}"#, #"{"refreshToken" : "[redacted]", "message":"no"}"#),
      (#"{"user":42}"#, #"{"user":[redacted]}"#), (#"{"password":"unclosed"#, #"{"password":"[redacted]"#),
      ("Unexpected field name: picture", "Unexpected field name: picture"),
      ("Image format is not supported (JPEG, PNG)", "Image format is not supported (JPEG, PNG)"),
      (
        "You've reached your analysis limit for this month.",
        "You've reached your analysis limit for this month."
      ),
    ])
  func words(text: String, expected: String) {
    #expect(Redaction.message(text) == expected)
  }

  @Test("makes one line of it, without control characters and turns of direction")
  func line() {
    #expect(Redaction.message(" a\r\n\tb\u{1B}[31m\u{202E}c\u{0}\u{2028}d ") == "a b[31mc d")
  }

  @Test(
    "nothing that hides text or turns its order round is kept, and no secret is hidden by it",
    arguments: HostileText.all)
  func hostile(text: HostileText) throws {
    #expect(HostileText.found(in: Redaction.message(text.text)) == [])
    #expect(HostileText.found(in: try #require(Redaction.excerpt(Array(text.text.utf8)))) == [])
    for character in text.characters.unicodeScalars
    where !character.properties.isWhitespace && character != "\u{2800}" {
      #expect(Redaction.message("pass\(character)word=abc") == "password=[redacted]")
    }
  }

  @Test("bounds messages and excerpts")
  func bounds() {
    let text = String(repeating: "wort ", count: 100_000)
    #expect(Redaction.message(text).unicodeScalars.count == 300)
    #expect(Redaction.message(String(text.prefix(299))).unicodeScalars.count == 299)
    #expect(Redaction.excerpt(Array(text.utf8))?.unicodeScalars.count == 200)
    #expect(Redaction.excerpt([]) == nil)
    #expect(Redaction.excerpt([0xFF, 0xFE]) != nil)
  }

  @Test("knows a token that the end of an excerpt cuts")
  func cutToken() throws {
    // 188 bytes: the token begins before the 200th and ends after it.
    let filler = String(repeating: "<b> ", count: 47)
    let excerpt = try #require(Redaction.excerpt(Array("\(filler)\(Self.jwt) end".utf8)))
    #expect(!excerpt.contains("eyJ"))
  }
}
