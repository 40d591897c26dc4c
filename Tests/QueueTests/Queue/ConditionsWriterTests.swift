import Foundation
import Testing

@testable import Queue
@testable import Support

@Suite("The JSON of conditions")
struct ConditionsWriterTests {
  private func parsed(_ conditions: [Condition]) throws -> [[String: Any]] {
    let data = Data(ConditionsWriter.json(conditions))
    return try #require(try JSONSerialization.jsonObject(with: data) as? [[String: Any]])
  }

  private func condition(_ text: String, confidence: Double = 0.5) throws -> Condition {
    Condition(id: text, name: text, confidence: try #require(Confidence(confidence)))
  }

  static let hostile: [String] = [
    "", "\"", "\\", "\\\"", "a\"b\\c", "\n\r\t\u{08}\u{0C}", "\u{00}", "\u{01}\u{1F}\u{7F}",
    "\u{2028}", "\u{2029}", "a\u{2028}b\u{2029}c", "\u{2027}\u{202A}\u{2030}", "é", "日本語", "😀",
    "👩‍👩‍👧", "a\u{FEFF}b", "\u{FFFF}", "\u{10FFFF}", "</script>", "{{}}[[]]", "\\u0041", "e\u{301}",
    String(repeating: "\"\\\u{2028}", count: 500), "-->", "NaN", "null", "%s%n", "'; DROP TABLE job; --",
  ]

  @Test("carries hostile text as an independent reader reads it", arguments: hostile)
  func text(_ text: String) throws {
    var hostile = try condition(text)
    hostile.explanation = text
    hostile.symptoms = [text, "plain", text]
    hostile.treatment = text
    let read = try #require(try parsed([hostile]).first)
    for key in ["id", "name", "description", "treatment"] {
      let value = try #require(read[key] as? String)
      #expect(Array(value.unicodeScalars) == Array(text.unicodeScalars), "\(key)")
    }
    #expect(read["symptoms"] as? [String] == [text, "plain", text])
  }

  @Test("is pure ASCII where control characters and line separators were, and has no raw control byte")
  func rawBytes() throws {
    let bytes = ConditionsWriter.json(try Self.hostile.map { try condition($0) })
    #expect(bytes.allSatisfy { $0 >= 0x20 })
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(!text.unicodeScalars.contains("\u{2028}"))
    #expect(!text.unicodeScalars.contains("\u{2029}"))
  }

  @Test(
    "carries a confidence exactly",
    arguments: [0, 1, 0.1, 0.7999999999999999, 1.0 / 3, 2.2250738585072014e-308, 1e-7, 0.30000000000000004])
  func numbers(_ confidence: Double) throws {
    // JSONSerialization itself rounds the last digit; JSONDecoder does not.
    struct Read: Decodable {
      var confidence: Double
    }
    let data = Data(ConditionsWriter.json([try condition("x", confidence: confidence)]))
    #expect(try JSONDecoder().decode([Read].self, from: data).first?.confidence == confidence)
  }

  @Test("has the number of the band", arguments: [(0.8, 4), (0.7999, 3), (0.6, 3), (0.4, 2), (0, 1), (1, 4)])
  func band(confidence: Double, code: Int) throws {
    let read = try #require(try parsed([condition("x", confidence: confidence)]).first)
    #expect(read["band"] as? Int == code)
  }

  @Test("leaves absent what the model did not say, and keeps what it said was false or empty")
  func absent() throws {
    let bare = try condition("x")
    var full = bare
    full.symptoms = []
    full.isPotentiallySerious = false
    full.recommendsConsultation = true
    full.isNormal = true
    let read = try parsed([bare, full])
    #expect(Set(read[0].keys) == ["id", "name", "confidence", "band", "normal"])
    #expect(
      Set(read[1].keys) == ["id", "name", "confidence", "band", "normal", "symptoms", "serious", "consult"])
    #expect(read[1]["symptoms"] as? [String] == [])
    #expect(read[1]["serious"] as? Bool == false)
    #expect(read[1]["consult"] as? Bool == true)
    #expect(read[1]["normal"] as? Bool == true)
  }

  @Test("is an empty array for no finding")
  func empty() throws {
    #expect(ConditionsWriter.json([]) == Array("[]".utf8))
  }
}
