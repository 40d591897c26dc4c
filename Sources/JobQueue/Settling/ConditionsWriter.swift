import AnalysisCore

/// Writes conditions as the JSON that the database keeps, straight to UTF-8.
///
/// An object holds `id`, `name`, `confidence`, `band` (its number) and `normal`, and of `description`,
/// `symptoms`, `serious`, `consult` and `treatment` those that the model gave: what it did not say stays
/// absent. A confidence is always finite, so every number is valid JSON.
struct ConditionsWriter {
  private(set) var bytes: [UInt8] = []

  /// The JSON array of some conditions.
  static func json(_ conditions: [Condition]) -> [UInt8] {
    var writer = ConditionsWriter()
    writer.bytes.reserveCapacity(64 + conditions.count * 512)
    writer.separated(conditions) { $0.write($1) }
    return writer.bytes
  }

  private mutating func write(_ condition: Condition) {
    raw("{\"id\":")
    string(condition.id)
    raw(",\"name\":")
    string(condition.name)
    raw(",\"confidence\":")
    raw(condition.confidence.value.description)
    raw(",\"band\":")
    raw(condition.confidence.band.code.description)
    raw(",\"normal\":")
    boolean(condition.isNormal)
    if let explanation = condition.explanation {
      raw(",\"description\":")
      string(explanation)
    }
    if let symptoms = condition.symptoms {
      raw(",\"symptoms\":")
      separated(symptoms) { $0.string($1) }
    }
    if let serious = condition.isPotentiallySerious {
      raw(",\"serious\":")
      boolean(serious)
    }
    if let consult = condition.recommendsConsultation {
      raw(",\"consult\":")
      boolean(consult)
    }
    if let treatment = condition.treatment {
      raw(",\"treatment\":")
      string(treatment)
    }
    bytes.append(UInt8(ascii: "}"))
  }

  private mutating func separated<Element>(
    _ elements: [Element], _ write: (inout ConditionsWriter, Element) -> Void
  ) {
    bytes.append(UInt8(ascii: "["))
    var isFirst = true
    for element in elements {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      write(&self, element)
    }
    bytes.append(UInt8(ascii: "]"))
  }

  private mutating func boolean(_ value: Bool) {
    raw(value ? "true" : "false")
  }

  private mutating func raw(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }

  private mutating func string(_ text: String) {
    var text = text
    bytes.append(UInt8(ascii: "\""))
    text.withUTF8 { utf8 in
      var start = 0
      for index in utf8.indices {
        guard let escape = Self.escape(utf8, at: index) else { continue }
        bytes.append(contentsOf: utf8[start..<index])
        bytes.append(contentsOf: escape.text.utf8)
        start = index + escape.length
      }
      if start < utf8.count { bytes.append(contentsOf: utf8[start...]) }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// How what begins at an index is escaped, and how many bytes of it there are; nil when it stays as it
  /// is. U+2028 and U+2029 are escaped for readers that take JSON for JavaScript.
  private static func escape(
    _ utf8: UnsafeBufferPointer<UInt8>, at index: Int
  ) -> (text: String, length: Int)? {
    switch utf8[index] {
    case UInt8(ascii: "\""): ("\\\"", 1)
    case UInt8(ascii: "\\"): ("\\\\", 1)
    case 0x0A: ("\\n", 1)
    case 0x0D: ("\\r", 1)
    case 0x09: ("\\t", 1)
    case let byte where byte < 0x20: ("\\u00" + hexadecimal(byte), 1)
    case 0xE2 where index + 2 < utf8.count && utf8[index + 1] == 0x80 && utf8[index + 2] & 0xFE == 0xA8:
      (utf8[index + 2] == 0xA8 ? "\\u2028" : "\\u2029", 3)
    default: nil
    }
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    (byte < 0x10 ? "0" : "") + String(byte, radix: 16)
  }
}
