import PostgreSQL
import Support

/// One JSON object: `data` with an object a row, and `meta`, which comes last because the number of rows is
/// known only then.
struct JSONView: ReportView {
  let audience = Column.Audience.programs
  private var keys: [[UInt8]] = []
  private var isFirst = true

  mutating func begin(_ columns: [Column], into bytes: inout [UInt8]) {
    keys = columns.map { column in
      var key: [UInt8] = []
      JSONWriter.append(column.name, to: &key)
      key.append(UInt8(ascii: ":"))
      return key
    }
    bytes.append(contentsOf: "{\"data\":[".utf8)
  }

  /// A hidden number is null, and the row names its columns in `hidden`.
  mutating func row(_ cells: [ReportCell], at shown: [Int], into bytes: inout [UInt8]) {
    var hidden: [UInt8] = []
    bytes.append(contentsOf: (isFirst ? "\n{" : ",\n{").utf8)
    isFirst = false
    for (position, index) in shown.enumerated() {
      if position > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes.append(contentsOf: keys[position])
      Self.append(cells[index], to: &bytes)
      guard case .hidden = cells[index] else { continue }
      if !hidden.isEmpty { hidden.append(UInt8(ascii: ",")) }
      hidden += keys[position].dropLast()
    }
    if !hidden.isEmpty {
      bytes.append(contentsOf: ",\"hidden\":[".utf8)
      bytes += hidden
      bytes.append(UInt8(ascii: "]"))
    }
    bytes.append(UInt8(ascii: "}"))
  }

  mutating func end(_ meta: ReportMeta, into bytes: inout [UInt8]) {
    bytes.append(contentsOf: (isFirst ? "],\n" : "\n],\n").utf8)
    bytes.append(contentsOf: "\"meta\":".utf8)
    bytes += JSONValue.object(meta.fields).bytes
    bytes.append(contentsOf: "}\n".utf8)
  }

  private static func append(_ cell: ReportCell, to bytes: inout [UInt8]) {
    switch cell {
    case .absent, .unlimited, .hidden: bytes.append(contentsOf: "null".utf8)
    case .text(let text): JSONWriter.append(text, to: &bytes)
    case .borrowed(let text): text.withUTF8 { JSONWriter.append(utf8: $0, to: &bytes) }
    case .identifier(let number): JSONWriter.append(String(number), to: &bytes)
    case .integer(let number): DigitText.append(number, to: &bytes)
    case .decimal(let number): DigitText.append(number, to: &bytes)
    // As text: most readers of JSON make a binary number of the other form.
    case .number(let number): JSONWriter.append(number.description, to: &bytes)
    case .percentage(let number): JSONWriter.append("\(number)%", to: &bytes)
    case .time(let time): JSONWriter.append(time.text, to: &bytes)
    case .boolean(let yes): bytes.append(contentsOf: (yes ? "true" : "false").utf8)
    }
  }
}
