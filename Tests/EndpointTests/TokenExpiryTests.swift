import Testing

@testable import Endpoint
@testable import Support

@Suite("The end of a token")
struct TokenExpiryTests {
  private func expiry(_ token: String, _ answer: JSONValue = .object([])) -> Double? {
    (try? JSONReader.read(answer.bytes)).flatMap { TokenExpiry.of(token, answer: $0, receivedAt: 1000) }
  }

  @Test("is the JWT's, counted from its issue where it says so, since the backend's clock may not be ours")
  func claims() {
    #expect(expiry(Samples.jwt(#"{"exp":4600}"#)) == 4600)
    #expect(expiry(Samples.jwt(#"{"iat":500000,"exp":503600}"#)) == 4600)
    #expect(expiry(Samples.jwt(#"{"iat":9000,"exp":4600}"#)) == 4600)
    #expect(expiry(Samples.jwt(#"{"exp":4600}"#), ["expiresIn": .number(5)]) == 4600)
  }

  @Test("is unknown for a new token that has ended already: one of the clocks is wrong")
  func endedAtOnce() {
    #expect(expiry(Samples.jwt(#"{"exp":1000}"#)) == nil)
    #expect(expiry(Samples.jwt(#"{"exp":3}"#)) == nil)
    #expect(expiry(Samples.jwt(#"{"iat":500000,"exp":500000}"#)) == nil)
    #expect(expiry("opaque", ["expiresIn": .number(0)]) == nil)
    #expect(expiry("opaque", ["expires_at": .number(999)]) == nil)
  }

  @Test("is the answer's, where the token says nothing")
  func hints() {
    #expect(expiry("opaque", ["expiresIn": .number(60)]) == 1060)
    #expect(expiry("opaque", ["expires_in": .number(60)]) == 1060)
    #expect(expiry("opaque", ["expiresAt": .string("1970-01-01T01:00:00Z")]) == 3600)
    #expect(expiry("opaque", ["expires_at": .number(3600)]) == 3600)
    #expect(expiry(Samples.jwt(#"{"sub":"x"}"#), ["expires_in": .number(60)]) == 1060)
  }

  @Test(
    "is unknown for everything that cannot be read",
    arguments: [
      "", "opaque", "a.b", "a.b.c", "a.!.c", "..", "a.W10.c", "a.eyJleHAiOiJ4In0.c", "a.eyJleHAiOjFlMzB9.c",
    ])
  func unknown(token: String) {
    #expect(expiry(token) == nil)
    #expect(expiry(token, ["expiresIn": .string("1h")]) == nil)
  }

  @Test(
    "needs base64 for addresses to be read",
    arguments: [
      ("", ""), ("Zg", "f"), ("Zg==", "f"), ("Zm8", "fo"), ("Zm9vYg", "foob"), ("_-8", "\u{FFFD}\u{FFFD}"),
    ])
  func base64(text: String, expected: String) {
    #expect(TokenExpiry.base64URL(text[...]).map { String(decoding: $0, as: UTF8.self) } == expected)
  }

  @Test("is not read of text that is no base64", arguments: ["Z", "Zg!", "Zm9vY", "ü"])
  func noBase64(text: String) {
    #expect(TokenExpiry.base64URL(text[...]) == nil)
  }
}
