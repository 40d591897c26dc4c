/// Appends JSON to bytes: the hot answers are written by hand, because an encoder costs more than the rest
/// of the request.
struct JSONText {
  private(set) var bytes: [UInt8] = []

  /// Text that is already JSON.
  mutating func raw(_ text: StaticString) {
    text.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }

  mutating func raw(_ json: [UInt8]) { bytes.append(contentsOf: json) }

  mutating func string(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 0..<0x20:
        let digits = String(byte, radix: 16)
        raw("\\u00" + (digits.count == 1 ? "0" : "") + digits)
      default:
        bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  mutating func array<Element>(_ elements: [Element], _ write: (inout JSONText, Element) -> Void) {
    raw("[")
    for (index, element) in elements.enumerated() {
      if index > 0 { raw(",") }
      write(&self, element)
    }
    raw("]")
  }

  /// One condition; `confidence` stands in for its own when given, and `sparse` leaves out what may be
  /// missing.
  mutating func condition(_ condition: Condition, confidence: String? = nil, sparse: Bool = false) {
    let template = condition.template
    raw("{\"id\":")
    string(template.id)
    raw(",\"name\":")
    string(template.name)
    raw(",\"confidence\":")
    raw(confidence ?? condition.confidence)
    raw(",\"description\":")
    string("\(ConditionCatalogue.notice) \(template.detail)")
    raw(",\"isPotentiallySerious\":")
    raw(template.serious ? "true" : "false")
    if !sparse {
      raw(",\"symptoms\":")
      array(template.symptoms) { $0.string($1) }
      raw(",\"recommendConsultation\":")
      raw(template.consult ? "true" : "false")
      raw(",\"treatmentInfo\":")
      string(template.treatment)
    }
    raw("}")
  }
}
