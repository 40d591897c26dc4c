import AnalysisCore
import Formatting
import HTTPTransfer
import Testing

@testable import ModelClient

/// What the reader with places makes of bytes, beside the reader with a tree.
enum Comparison {
  static func difference(_ bytes: [UInt8], status: Int = 200) -> String? {
    let new = Result { () throws(JSONFailure) in try JSONReader.read(bytes) }
    let old = Result { () throws(JSONFailure) in try TreeReader.read(bytes) }
    guard new.map(\.value) == old else { return "read: \(new.map(\.value)) instead of \(old)" }
    for kind in [AnalysisKind.throat, .ear] {
      let ours = Result { () throws(DecodingFailure) in try AnalysisDecoder.decode(bytes, expecting: kind) }
      let theirs = Result { () throws(DecodingFailure) in try TreeDecoder.decode(bytes, expecting: kind) }
      guard ours == theirs else { return "decoded: \(ours) instead of \(theirs)" }
    }
    for status in [status, 200, 500] {
      let headers: Headers = ["Content-Type": "application/json", "Retry-After": "7"]
      var (ours, theirs) = ("", "")
      dump(Classifier(now: 1_770_000_000).failure(status: status, headers: headers, body: bytes), to: &ours)
      dump(
        TreeClassifier(now: 1_770_000_000).failure(status: status, headers: headers, body: bytes), to: &theirs
      )
      guard ours == theirs else { return "classified: \(ours) instead of \(theirs)" }
    }
    if case .success(let part) = new, case .success(let tree) = old {
      return fields(part, tree, "")
    }
    return nil
  }

  static let names = [
    "id", "type", "conditions", "user", "user_id", "timestamp", "created_at", "error", "name", "confidence",
    "count",
    "symptoms", "isPotentiallySerious", "token", "expiresIn", "subscription", "K", "debug_info", "a",
  ]

  private static func fields(_ part: JSONPart, _ tree: JSONValue, _ path: String) -> String? {
    let ours = try? FieldReader(part, path: path)
    let theirs = try? TreeFields(tree, path: path)
    guard (ours == nil) == (theirs == nil) else { return "\(path): an object or not" }
    guard let ours, let theirs else { return nil }
    for name in names {
      let same =
        ours[name]?.value == theirs[name] && ours.text(name) == theirs.text(name)
        && ours.texts(name, limit: 3) == theirs.texts(name, limit: 3) && ours.bool(name) == theirs.bool(name)
        && ours.count(name) == theirs.count(name)
        && ours.time(name, "timestamp") == theirs.time(name, "timestamp")
        && Result { () throws(DecodingFailure) in try ours.requiredText(name) }
          == Result { () throws(DecodingFailure) in try theirs.requiredText(name) }
        && Result { () throws(DecodingFailure) in try ours.requiredIdentifier(name) }
          == Result { () throws(DecodingFailure) in try theirs.requiredIdentifier(name) }
        && Result { () throws(DecodingFailure) in try ours.requiredList(name, limit: 3).map(\.value) }
          == Result { () throws(DecodingFailure) in try theirs.requiredList(name, limit: 3) }
      guard same else { return "\(path).\(name)" }
      if let inner = ours[name], let innerTree = theirs[name],
        let found = fields(inner, innerTree, "\(path).\(name)")
      {
        return found
      }
    }
    return nil
  }
}

/// Makes up answers, sound and hostile ones.
struct AnswerGenerator {
  var random: SystemRandomNumberGenerator

  mutating func pick<T>(_ list: [T]) -> T { list[Int.random(in: 0..<list.count, using: &random)] }

  mutating func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &random) < share }

  static let texts = [
    "", " ", "a", "throat", "ear", "analysis_error", "normal", "Strep throat with a longer name of it", "ü",
    "e\u{301}", "é",
    "\u{212A}", "K", #"\u212a"#, #"\u00e9"#, #"\ud83d\ude00"#, #"\ud83d"#, #"\ude00"#, #"\ud83d\u0041"#,
    #"\n"#, #"\u0000"#, "\u{7F}",
    "\u{85}", "\u{C2}", "😀", #"\/"#, #"\x"#, #"\u12"#, #"\u00zz"#, "\n", "\u{1}", "2025-03-22T12:34:56.789Z",
    "2025-03-22T12:34:56+07:00", "yesterday", #"\u0069d"#, "SERVER_ERROR", "free", "premium",
    String(repeating: "x", count: 200),
    String(repeating: "ü", count: 201), String(repeating: "y", count: 10_001),
    String(repeating: "é", count: 10_000), "id", "1234567",
    "12345678", "123456789", "\u{A0}", "\u{2003}", #"\u0020"#, "abcdefg\u{7F}", #"1234567\""#,
  ]
  static let numbers = [
    "0", "-0", "1", "0.5", "0.78", "1.0000000000000002", "0.9999999999999999", "7.8e-1", "1e-400", "1e308",
    "1e309", "-1e999", "9007199254740992",
    "9007199254740993", "9223372036854775807", "1e300", "42", "1.5", "01", "1.", ".5", "1e", "1e+", "-",
    "0x1", "5e-324", "2.2250738585072011e-308",
    "1.7976931348623157e308", "1.7976931348623159e308", String(repeating: "9", count: 299),
    String(repeating: "9", count: 300),
    String(repeating: "9", count: 308), String(repeating: "9", count: 309),
    "0." + String(repeating: "1", count: 400), "1e00000000000001",
    "1742646896.789", "253402300800", "253402300799", "1E3",
  ]

  mutating func text() -> String { "\"\(pick(Self.texts))\"" }

  mutating func value(_ depth: Int) -> String {
    switch Int.random(in: 0..<(depth > 4 ? 6 : 9), using: &random) {
    case 0: pick(["null", "true", "false", "nul", "truex", "NaN", ""])
    case 1: pick(["null", "true", "false"])
    case 2: pick(Self.numbers)
    case 3...5: text()
    case 6: array(depth + 1)
    default: object(depth + 1)
    }
  }

  mutating func blank() -> String {
    chance(0.9) ? "" : pick([" ", "\n", "\t", "\r", "\u{A0}", "  ", "\u{C}"])
  }

  mutating func array(_ depth: Int) -> String {
    let count = depth < 3 && chance(0.05) ? 101 : Int.random(in: 0...3, using: &random)
    return "[" + (0..<count).map { _ in blank() + value(depth) + blank() }.joined(separator: ",") + "]"
  }

  mutating func name() -> String {
    chance(0.75)
      ? pick(Comparison.names) : chance(0.2) ? pick(Self.texts) : "n\(Int.random(in: 0...60, using: &random))"
  }

  mutating func object(_ depth: Int) -> String {
    let count =
      depth < 3 && chance(0.05)
      ? Int.random(in: 14...40, using: &random) : Int.random(in: 0...5, using: &random)
    return "{"
      + (0..<count).map { _ in "\(blank())\"\(name())\"\(blank()):\(value(depth))" }.joined(separator: ",")
      + "}"
  }

  /// A whole answer, of which each member may be left out, doubled or made up.
  mutating func answer() -> String {
    func member(_ name: String, _ usual: String) -> String? {
      if chance(0.01) { return nil }
      if chance(0.005) { return "\"\(name)\":\(usual),\"\(name)\":1" }
      return "\"\(name)\":\(chance(0.03) ? value(1) : usual)"
    }
    let conditions = (0..<pick([0, 1, 2, 2, 3, 30, 100, 101])).map { number in
      [
        member("id", "\"condition_\(number)\""), member("name", #""A name""#),
        member("confidence", "0.\(number)5"),
        member("description", text()), member("symptoms", #"["Fever","Sore throat"]"#),
        member("isPotentiallySerious", "true"),
        member("recommendConsultation", "false"), member("treatmentInfo", text()),
        chance(0.03) ? member("error", text()) : nil,
        chance(0.02) ? member("isError", "true") : nil, chance(0.02) ? member("error_note", text()) : nil,
      ].compactMap { $0 }.shuffled(using: &random).joined(separator: ",")
    }.map { "{\($0)}" }
    // Most faults are in one of many: with a hundred conditions nearly every answer would have one.
    let list = "[\(conditions.joined(separator: ","))]"
    let members = [
      member("id", #""a-1""#), member("type", pick([#""throat""#, #""ear""#])), member("conditions", list),
      member("timestamp", #""2025-03-22T12:34:56.789Z""#), member("user", #"{"id":"u-7"}"#),
      member("user_id", "7"),
      member("debug_info", #"{"data_source":"v3","processing_time":41.5}"#),
      chance(0.2) ? member("error", "false") : nil,
      chance(0.1) ? member("code", #""SERVER_ERROR""#) : nil, chance(0.1) ? member("message", text()) : nil,
      chance(0.1) ? member("error_id", #""12ab""#) : nil, chance(0.3) ? "\"\(name())\":\(value(1))" : nil,
    ].compactMap { $0 }.shuffled(using: &random)
    return "{\(members.joined(separator: ", "))}"
  }

  /// Answers, half of them with some bytes changed.
  mutating func bytes() -> [UInt8] {
    var bytes = Array((chance(0.7) ? answer() : value(0)).utf8)
    guard chance(0.5), !bytes.isEmpty else { return bytes }
    for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
      let place = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes.remove(at: place)
      case 1: bytes.removeSubrange(place...)
      case 2: bytes.insert(pick(Array(#"{}[],:"\ue0-."#.utf8)), at: place)
      case 3: bytes[place] = pick([0xFF, 0xC3, 0x80, 0xED, 0xA0, 0xF0, 0xC2, 0x85, 0x7F, 0x1F, 0x00])
      case 4: bytes[place] = UInt8.random(in: 0...255, using: &random)
      default:
        let other = Int.random(in: 0..<bytes.count, using: &random)
        bytes.insert(
          contentsOf: bytes[min(place, other)..<min(max(place, other), min(place, other) + 40)], at: place)
      }
    }
    return bytes
  }
}

@Suite("The two readers")
struct ComparisonTests {
  @Test("say the same of answers that were made up", arguments: 0..<8)
  func generated(part: Int) {
    var generator = AnswerGenerator(random: SystemRandomNumberGenerator())
    var accepted = 0
    for _ in 0..<400 {
      let bytes = generator.bytes()
      let difference = Comparison.difference(
        bytes, status: generator.pick([200, 201, 400, 401, 403, 413, 429, 503]))
      #expect(difference == nil, "\(String(decoding: bytes, as: UTF8.self))")
      if difference != nil { return }
      if (try? AnalysisDecoder.decode(bytes, expecting: .throat)) != nil { accepted += 1 }
    }
    print("of 400 answers \(accepted) were accepted as of a throat")
    #expect(accepted > 10)
  }

  @Test("say the same of each beginning of an answer, and of it with each byte changed")
  func beginnings() {
    let answer = Array(Samples.analysis.utf8)
    for end in 0...answer.count { #expect(Comparison.difference(Array(answer[..<end])) == nil, "\(end)") }
    for place in answer.indices {
      for byte in [0x00, 0x1F, 0x20, 0x22, 0x2C, 0x5C, 0x5D, 0x75, 0x7F, 0x80, 0xC3, 0xFF] as [UInt8] {
        var changed = answer
        changed[place] = byte
        #expect(Comparison.difference(changed) == nil, "\(byte) at \(place)")
      }
    }
  }

  @Test("say the same of texts of each length, with each byte at each place")
  func texts() {
    for length in 0...20 {
      for place in 0..<max(1, length) {
        for byte in UInt8.min...UInt8.max {
          for rest in [[], Array(#","b":"ü"}"#.utf8), Array(" }".utf8)] {
            var text = [UInt8](repeating: UInt8(ascii: "x"), count: length)
            if length > 0 { text[place] = byte }
            let bytes = Array(#"{"a":""#.utf8) + text + [0x22] + rest
            let (new, old) = (try? JSONReader.read(bytes).value, try? TreeReader.read(bytes))
            if new != old { #expect(Comparison.difference(bytes) == nil, "\(bytes)") }
            let alone = [0x22] + text + [0x22]
            let ours = Result { () throws(JSONFailure) in try JSONReader.read(alone).value }
            let theirs = Result { () throws(JSONFailure) in try TreeReader.read(alone) }
            if ours != theirs { #expect(ours == theirs, "\(alone)") }
          }
        }
      }
    }
  }

  @Test("say the same of nesting and of many names")
  func nesting() {
    for depth in [1, 31, 32, 33, 34, 1000] {
      for (open, close) in [("[", "]"), (#"{"a":"#, "}"), (#"[{"a":"#, "}]")] {
        let deep = String(repeating: open, count: depth)
        #expect(Comparison.difference(Array(deep.utf8)) == nil)
        #expect(
          Comparison.difference(Array((deep + "1" + String(repeating: close, count: depth)).utf8)) == nil)
      }
    }
    for count in 1...40 {
      for twin in ["n0", "n\(count - 1)", "n\(count)", "\\u006e0", "é", "e\u{301}", "\u{212A}", "K"] {
        let names = ((0..<count).map { "n\($0)" } + ["K", "é", twin]).map { "\"\($0)\":0" }
        #expect(
          Comparison.difference(Array("{\(names.joined(separator: ","))}".utf8)) == nil, "\(count) \(twin)")
      }
    }
  }
}
