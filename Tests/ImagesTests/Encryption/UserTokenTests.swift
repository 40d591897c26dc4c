import Testing

@testable import Images
@testable import Support

@Suite("Tokens of users")
struct UserTokenTests {
  @Test("A new one names its shard, has 256 random bits, and is read as it is written")
  func new() throws {
    var texts: Set<String> = []
    for shard in [0, 7, 1023] as [Int16] {
      let token = try UserToken(shard: shard)
      #expect(token.text.wholeMatch(of: /aq1\.[0-9]{1,4}\.[A-Za-z0-9_-]{43}/) != nil)
      #expect(token.text.hasPrefix("aq1.\(shard)."))
      let read = try #require(UserToken(token.text))
      #expect(read == token && read.shard == shard)
      #expect(token.hash == SHA256.digest(of: Array(token.text.utf8)) && token.hash.count == 32)
      texts.insert(token.text)
    }
    #expect(texts.count == 3)
  }

  @Test(
    "What an app may not have been given is none",
    arguments: [
      "", "aq1.", "aq1.0.", "aq1.0." + String(repeating: "A", count: 42),
      "aq1.0." + String(repeating: "A", count: 44),
      "aq1.00." + String(repeating: "A", count: 43), "aq1.-1." + String(repeating: "A", count: 43),
      "aq1.+1." + String(repeating: "A", count: 43), "aq1.40000." + String(repeating: "A", count: 43),
      "aq2.0." + String(repeating: "A", count: 43), "aq1.0." + String(repeating: "A", count: 42) + "+",
      "aq1.0." + String(repeating: "A", count: 42) + "é", "aq1.0." + String(repeating: "A", count: 43) + ".x",
      "Bearer aq1.0." + String(repeating: "A", count: 43),
      "aq1.0." + String(repeating: "A", count: 43) + "\n",
      "aq1..0." + String(repeating: "A", count: 43),
    ])
  func none(text: String) {
    #expect(UserToken(text) == nil)
  }

  @Test("It shows itself nowhere")
  func hidden() throws {
    let token = try UserToken(shard: 0)
    var dumped = ""
    dump(token, to: &dumped)
    for shown in ["\(token)", String(reflecting: token), dumped] {
      #expect(!shown.contains(token.text.suffix(20)))
    }
  }
}
