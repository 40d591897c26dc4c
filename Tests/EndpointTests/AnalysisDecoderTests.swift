import Foundation
import Testing

@testable import Endpoint
@testable import Support

@Suite("The decoder of analyses")
struct AnalysisDecoderTests {
  private func decode(
    _ text: String, _ kind: AnalysisKind = .throat, normalIDs: Set<String> = Condition.defaultNormalIDs
  ) throws(DecodingFailure) -> Analysis {
    try AnalysisDecoder.decode(Array(text.utf8), expecting: kind, normalIDs: normalIDs)
  }

  /// The sample with one place changed; the place must be there.
  private func changed(_ old: String, _ new: String) throws -> String {
    try #require(Samples.analysis.contains(old), "the sample has no \(old)")
    return Samples.analysis.replacingOccurrences(of: old, with: new)
  }

  @Test("reads a whole answer")
  func whole() throws {
    let analysis = try decode(Samples.analysis)
    #expect(analysis.id == "a-1")
    #expect(analysis.kind == .throat)
    #expect(analysis.endpointUser == "u-7")
    #expect(analysis.model == "model-v3")
    #expect(analysis.processingMilliseconds == 41.5)
    let time = try #require(analysis.answeredAt)
    #expect(abs(time - 1_742_646_896.789) < 1e-6)
    let first = try #require(analysis.primary)
    #expect(first.id == "strep_throat")
    #expect(first.name == "Strep Throat")
    #expect(first.confidence.value == 0.78)
    #expect(first.confidence.band == .orange)
    #expect(first.explanation == "A bacterial infection")
    #expect(first.symptoms == ["Sore throat", "Fever"])
    #expect(first.isPotentiallySerious == true)
    #expect(first.recommendsConsultation == true)
    #expect(first.treatment == "Antibiotics")
    #expect(!first.isNormal)
    let second = try #require(analysis.secondary)
    #expect(second.explanation == nil)
    #expect(second.symptoms == nil)
    #expect(second.isPotentiallySerious == nil)
    #expect(second.recommendsConsultation == nil)
    #expect(second.treatment == nil)
  }

  @Test("reads the least answer, without a finding and without a time")
  func least() throws {
    let analysis = try decode(#"{"id":"x","type":"ear","conditions":[]}"#, .ear)
    #expect(analysis == Analysis(id: "x", kind: .ear, conditions: []))
  }

  @Test(
    "accepts the variants that are known",
    arguments: [
      (#""error":false"#, #""error":null"#), (#""error":false"#, #""error":"""#),
      (#""confidence":0.31"#, #""confidence":0.31,"error":"""#),
      (#""confidence":0.31"#, #""confidence":0.31,"error":false,"error_note":null"#),
      (#""error":false"#, #""message":"done""#), (#""user":"u-7""#, #""user_id":"u-7""#),
      (#""user":"u-7""#, #""user":null,"user_id":"u-7""#),
      (#""user":"u-7""#, #""user":{"id":"u-7","subscription":"free"}"#),
      (#""timestamp":"2025-03-22T12:34:56.789Z""#, #""created_at":"2025-03-22T12:34:56.789Z""#),
      (#""timestamp":"2025-03-22T12:34:56.789Z""#, #""timestamp":1742646896.789"#),
      (#""timestamp":"2025-03-22T12:34:56.789Z""#, #""timestamp":null,"created_at":1742646896.789"#),
      (#""confidence":0.78"#, #""confidence":7.8e-1"#),
      (#""id":"a-1""#, #""attention_map":[[0.1]],"id":"a-1""#),
    ])
  func variants(old: String, new: String) throws {
    let plain = try decode(Samples.analysis)
    let other = try decode(try changed(old, new))
    #expect(abs((plain.answeredAt ?? 0) - (other.answeredAt ?? 0)) < 1e-6)
    var same = other
    same.answeredAt = plain.answeredAt
    #expect(same == plain)
  }

  @Test("tells absent from empty symptoms, and takes whole numbers for ids")
  func absent() throws {
    let empty = try decode(try changed(#"["Sore throat","Fever"]"#, "[]"))
    #expect(empty.primary?.symptoms == [])
    let null = try decode(try changed(#"["Sore throat","Fever"]"#, "null"))
    #expect(null.primary?.symptoms == nil)
    #expect(try decode(try changed(#""id":"a-1""#, #""id":42"#)).id == "42")
    #expect(try decode(try changed(#""timestamp":"2025-03-22T12:34:56.789Z","#, "")).answeredAt == nil)
  }

  @Test(
    "gives each confidence its band, edges included",
    arguments: [
      ("1", ConfidenceBand.red), ("0.8", .red), ("0.7999999999999999", .orange), ("0.6", .orange),
      ("0.5999999999999999", .yellow), ("0.4", .yellow), ("0.39999999999999997", .green), ("0", .green),
      ("0.0", .green), ("1e0", .red), ("-0", .green), ("1e-400", .green),
    ])
  func bands(confidence: String, band: ConfidenceBand) throws {
    let analysis = try decode(try changed("0.78", confidence))
    #expect(analysis.primary?.confidence.band == band)
  }

  @Test("marks the conditions that mean nothing found, by the ids that are configured")
  func normal() throws {
    let text = try changed("strep_throat", "normal")
    #expect(try decode(text).primary?.isNormal == true)
    #expect(try decode(text, normalIDs: ["clear"]).primary?.isNormal == false)
    #expect(try decode(text.replacingOccurrences(of: "0.78", with: "0.95")).primary?.confidence.band == .red)
  }

  @Test(
    "refuses the whole answer for one fault",
    arguments: [
      (#""id":"a-1","#, "", "id"), (#""id":"a-1""#, #""id":"""#, "id"), (#""id":"a-1""#, #""id":" ""#, "id"),
      (#""id":"a-1""#, #""id":null"#, "id"), (#""id":"a-1""#, #""id":1.5"#, "id"),
      (#""id":"a-1""#, #""id":1e300"#, "id"), (#""id":"a-1""#, #""id":"a\u0000""#, "id"),
      (#""id":"a-1""#, #""id":{}"#, "id"), (#""type":"throat","#, "", "type"),
      (#""type":"throat""#, #""type":"ear""#, "type"), (#""type":"throat""#, #""type":"nose""#, "type"),
      (#""type":"throat""#, #""type":"Throat""#, "type"), (#""type":"throat""#, #""type":1"#, "type"),
      (#""type":"throat""#, #""type":null"#, "type"), (#""conditions":"#, #""findings":"#, "conditions"),
      ("0.78", "1.0000000000000002", "conditions[0].confidence"),
      ("0.78", "-0.1", "conditions[0].confidence"),
      ("0.78", "78", "conditions[0].confidence"), ("0.78", #""0.78""#, "conditions[0].confidence"),
      ("0.78", "true", "conditions[0].confidence"), ("0.78", "null", "conditions[0].confidence"),
      ("0.78", "[0.78]", "conditions[0].confidence"), ("0.31", "2", "conditions[1].confidence"),
      (#""name":"Tonsillitis","#, "", "conditions[1].name"),
      (#""name":"Tonsillitis""#, #""name":"""#, "conditions[1].name"),
      (#""name":"Tonsillitis""#, #""name":"a\u001b[31m""#, "conditions[1].name"),
      (#""name":"Tonsillitis""#, #""name":"a\u0085b""#, "conditions[1].name"),
      (#""name":"Tonsillitis""#, #""name":"a\nb""#, "conditions[1].name"),
      (#""id":"tonsillitis","#, "", "conditions[1].id"),
      (#""id":"tonsillitis""#, #""id":7"#, "conditions[1].id"),
    ])
  func faults(old: String, new: String, place: String) throws {
    let text = try changed(old, new)
    let failure = try #require(require(throws: DecodingFailure.self) { try decode(text) })
    #expect(failure.path == place)
  }

  /// A field of the sample, odd values of it, and what the answer is without it.
  struct Odd: Sendable {
    let field: String
    let values: [String]
    let forget: @Sendable (inout Analysis) -> Void

    init(_ field: String, _ values: [String], _ forget: @escaping @Sendable (inout Analysis) -> Void) {
      self.field = field
      self.values = values
      self.forget = forget
    }
  }

  static let oddFields = [
    Odd(#""symptoms":["Sore throat","Fever"]"#, [#""Fever""#, #"["Fever",1]"#, #"["Fever\u0007"]"#, "{}"]) {
      $0.conditions[0].symptoms = nil
    },
    Odd(#""isPotentiallySerious":true"#, [#""yes""#, "1", "[]"]) {
      $0.conditions[0].isPotentiallySerious = nil
    },
    Odd(#""recommendConsultation":true"#, [#""yes""#, "1", "[]"]) {
      $0.conditions[0].recommendsConsultation = nil
    },
    Odd(#""treatmentInfo":"Antibiotics""#, ["[]", "5", #""a\u0000""#]) { $0.conditions[0].treatment = nil },
    Odd(#""description":"A bacterial infection""#, ["5", "true", #""a\nb""#]) {
      $0.conditions[0].explanation = nil
    },
    Odd(#""timestamp":"2025-03-22T12:34:56.789Z""#, [#""yesterday""#, "true", "1742646896789", "{}"]) {
      $0.answeredAt = nil
    },
    Odd(#""user":"u-7""#, ["{}", "[]", "1.5", #"" ""#, "true"]) { $0.endpointUser = nil },
    Odd(#""processing_time":41.5"#, ["-1", #""41""#, "{}", "true"]) { $0.processingMilliseconds = nil },
    Odd(#""data_source":"model-v3""#, ["1", "[]", #""a\u0007""#]) { $0.model = nil },
    Odd(
      #""debug_info":{"data_source":"model-v3","image_data_length":1234,"processing_time":41.5}"#,
      [#""none""#, "[]", "5", "true"]
    ) {
      $0.model = nil
      $0.processingMilliseconds = nil
    },
  ]

  @Test(
    "reads a field that makes no diagnosis as absent where it is odd, and all else as it is",
    arguments: oddFields)
  func odd(field: Odd) throws {
    let name = try #require(field.field.split(separator: ":").first)
    var expected = try decode(Samples.analysis)
    field.forget(&expected)
    for value in field.values + ["null"] {
      #expect(try decode(try changed(field.field, "\(name):\(value)")) == expected, "\(value)")
    }
  }

  @Test("keeps treatment and recommendation apart")
  func advice() throws {
    let two = #""treatmentInfo":"Rest","recommendationText":"See a doctor""#
    let both = try decode(try changed(#""treatmentInfo":"Antibiotics""#, two))
    #expect(both.primary?.treatment == "Rest" && both.primary?.recommendation == "See a doctor")
    let one = try decode(try changed("treatmentInfo", "recommendationText"))
    #expect(one.primary?.treatment == nil && one.primary?.recommendation == "Antibiotics")
  }

  @Test("refuses an answer of the other kind than the job's, both ways")
  func otherKind() throws {
    let failure = try #require(require(throws: DecodingFailure.self) { try decode(Samples.analysis, .ear) })
    #expect(failure.description == "The answer's type is throat, but the job's is ear.")
  }

  @Test("bounds texts and lists")
  func bounds() throws {
    let long = String(repeating: "ü", count: 200)
    #expect(try decode(try changed("Tonsillitis", long)).secondary?.name == long)
    #expect(throws: DecodingFailure.self) { try decode(try changed("Tonsillitis", long + "x")) }
    let text = String(repeating: "x", count: 10_000)
    #expect(try decode(try changed("A bacterial infection", text)).primary?.explanation == text)
    #expect(try decode(try changed("A bacterial infection", text + "x")).primary?.explanation == nil)
    let condition = #"{"id":"a","name":"b","confidence":0}"#
    func many(_ count: Int) -> String {
      let list = [String](repeating: condition, count: count).joined(separator: ",")
      return #"{"id":"x","type":"ear","conditions":[\#(list)]}"#
    }
    #expect(try decode(many(100), .ear).conditions.count == 100)
    #expect(throws: DecodingFailure.self) { try decode(many(101), .ear) }
  }

  @Test(
    "refuses an answer that reports a failure, in each of its forms",
    arguments: [
      (#""error":false"#, #""error":true"#), (#""error":false"#, #""error":"model crashed""#),
      (#""error":false"#, #""error":{"code":"X"}"#), (#""error":false"#, #""error":1"#),
      (#""id":"tonsillitis""#, #""id":"analysis_error""#),
      (#""confidence":0.31"#, #""confidence":0.31,"isError":true"#),
      (#""confidence":0.31"#, #""confidence":0.31,"error":"","error_note":"made up""#),
      (#""confidence":0.31"#, #""confidence":0.31,"error_note":"""#),
      (#""confidence":0.31"#, #""confidence":0.31,"error":"out of memory""#),
      (#""confidence":0.31"#, #""confidence":0.31,"error":true"#),
    ])
  func reported(old: String, new: String) throws {
    let text = try changed(old, new)
    #expect(throws: DecodingFailure.self) { try decode(text) }
  }

  @Test(
    "refuses everything else",
    arguments: [
      "", "null", "[]", "\"x\"", "1", "<html></html>", "{}", "{\"id\":\"a-1\"", #"{"id":"a","id":"a"}"#,
    ])
  func others(text: String) {
    #expect(throws: DecodingFailure.self) { try decode(text) }
  }

  @Test("names no content of the answer in its failures")
  func silence() throws {
    let text = try changed(#""type":"throat""#, #""type":"Jane Doe""#)
    let failure = try #require(require(throws: DecodingFailure.self) { try decode(text) })
    #expect(!failure.description.contains("Jane"))
  }
}

/// The error of a call that must fail with a type of error.
func require<E: Error, R>(throws type: E.Type, _ body: () throws -> R) -> E? {
  do {
    _ = try body()
    return nil
  } catch {
    return error as? E
  }
}
