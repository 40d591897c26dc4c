import HTTPTransfer
import Testing

@testable import Control

@Suite("How long an answer may be kept")
struct FreshnessTests {
  @Test(
    "is what it says of itself",
    arguments: [
      ([], Freshness.usual), ([("Cache-Control", "public")], .usual),
      ([("Cache-Control", "private")], .usual),
      ([("Cache-Control", "no-store")], .never), ([("Cache-Control", "No-Store")], .never),
      ([("Cache-Control", "max-age=60, no-store")], .never), ([("Cache-Control", "no-cache")], .never),
      ([("cache-control", "public, max-age=60")], .atMost(60)),
      ([("Cache-Control", "max-age=\"60\"")], .atMost(60)),
      ([("Cache-Control", "max-age = 60")], .atMost(60)), ([("Cache-Control", "max-age=0")], .never),
      ([("Cache-Control", "max-age=60"), ("Age", "20")], .atMost(40)),
      ([("Cache-Control", "max-age=60"), ("Age", "60")], .never), ([("Cache-Control", "max-age=x")], .never),
      ([("Cache-Control", "max-age")], .never), ([("Cache-Control", "max-age=-5")], .never),
      ([("Cache-Control", "max-age=60"), ("Cache-Control", "max-age=10")], .atMost(10)),
      ([("Cache-Control", "s-maxage=5")], .usual),
    ])
  func read(fields: [(String, String)], expected: Freshness) {
    var headers = Headers()
    for (name, value) in fields { headers.add(name, value) }
    #expect(Freshness(headers) == expected)
  }

  @Test("is never longer than everything is kept")
  func end() {
    #expect(Freshness.usual.end(from: 100, usual: 50) == 150)
    #expect(Freshness.atMost(10).end(from: 100, usual: 50) == 110)
    #expect(Freshness.atMost(1000).end(from: 100, usual: 50) == 150)
    #expect(Freshness.never.end(from: 100, usual: 50) == nil)
    #expect(Freshness.usual.end(from: 100, usual: 0) == nil)
  }
}
