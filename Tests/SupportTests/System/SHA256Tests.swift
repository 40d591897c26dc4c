import Testing

@testable import Support

@Suite("SHA-256")
struct SHA256Tests {
  @Test(
    "is the standard's",
    arguments: zip(
      ["", "abc", String(repeating: "a", count: 1_000_000)],
      [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
      ]))
  func standard(text: String, hash: String) {
    #expect(SHA256.hexadecimal(of: text) == hash)
  }

  @Test("of pieces is that of the whole, and can be asked for on the way")
  func pieces() {
    var hash = SHA256()
    hash.update(Array("a".utf8).span.bytes)
    #expect(hash.digest == SHA256.digest(of: Array("a".utf8)))
    hash.update(Array("bc".utf8).span.bytes)
    #expect(Hexadecimal.text(of: hash.digest) == SHA256.hexadecimal(of: "abc"))
  }
}
