import Foundation
import TestSupport
import Testing

@testable import Control
@testable import Support

@Suite("CSV")
struct CSVViewTests {
  /// Cells that break careless writers or careless spreadsheets.
  static let hostile = [
    "plain", "", " ", " leading", "trailing ", "comma, inside", "quote \" inside", "\"", "\"\"", "line\nend",
    "carriage\r\nreturn", "\r", "\n", "tab\tinside", "semicolon;", "ünïcödé", "𝒜🩺👩‍⚕️", "日本語", "مرحبا",
    "e\u{301}",
    "NULL", "0012", "1e5", "'quoted'", "\\backslash\\", ",,,", "\",\"", "a\u{0}b", "bell\u{7}",
    "\u{FEFF}mark",
  ]

  @Test("Python's csv module reads back every hostile cell", arguments: [false, true])
  func roundTrip(excel: Bool) async throws {
    let rows = Self.hostile.map { [ReportCell.text("x"), .text($0), .text("y")] }
    let columns: [Column] = [.text("first", "F"), .text("hostile", "H"), .text("last", "L")]
    let read = try await Python.csvRows(
      Self.bytes(columns, rows, excel: excel), encoding: excel ? "utf-8-sig" : "utf-8")
    let expected = Self.hostile.map { text in
      if excel, ["0012", "1e5"].contains(text) { return ["x", "=\"\(text)\"", "y"] }
      let kept = printable(text, keeping: "\t\r\n")
      return ["x", kept == "\r" || kept == "\n" ? "'" + kept : kept, "y"]
    }
    #expect(read.first == ["first", "hostile", "last"])
    #expect(Array(read.dropFirst()) == expected)
  }

  @Test("every line ends with CRLF, the header's and the last one's too")
  func lineEnds() {
    let text = Self.text([.text("a", "A"), .number("b", "B")], [[.text("x"), .integer(1)]])
    #expect(text == "a,b\r\nx,1\r\n")
  }

  @Test("a report without rows has its header")
  func headerOnly() {
    #expect(Self.text([.text("a", "A"), .number("b", "B")], []) == "a,b\r\n")
  }

  @Test("the byte order mark comes only when asked for")
  func byteOrderMark() {
    #expect(Self.bytes([.text("a", "A")], [], excel: true) == [0xEF, 0xBB, 0xBF] + Array("a\r\n".utf8))
    #expect(Self.bytes([.text("a", "A")], [], excel: false) == Array("a\r\n".utf8))
  }

  @Test(
    "what names something stays itself in Excel, where that is asked for",
    arguments: [
      ("00123", true), ("0", false), ("123456789012345", false), ("12345678901234567890", true),
      ("1E5", true),
      ("12e345", true), ("1e", false), ("e5", false), ("u1", false), ("", false), ("2026-11", false),
      ("=1", false), ("0.5", false),
    ])
  func kept(text: String, isKept: Bool) {
    let plain = Self.bytes([.text("a", "A")], [[.text(text)]])
    let excel = Self.bytes([.text("a", "A")], [[.text(text)]], excel: true)
    let kept = Array("\u{FEFF}a\r\n\"=\"\"\(text)\"\"\"\r\n".utf8)
    #expect(excel == (isKept ? kept : [0xEF, 0xBB, 0xBF] + plain))
    #expect(!plain.starts(with: Array("a\r\n\"=".utf8)))
  }

  @Test("a long number that names something stays itself in Excel, and a count stays a number")
  func keptNumbers() {
    let columns = [Column.identifier("a", "A"), .number("b", "B")]
    let row: [ReportCell] = [.identifier(1_234_567_890_123_456_789), .integer(1_234_567_890_123_456_789)]
    let text = String(decoding: Self.bytes(columns, [row], excel: true), as: UTF8.self)
    #expect(text == "\u{FEFF}a,b\r\n\"=\"\"1234567890123456789\"\"\",1234567890123456789\r\n")
  }

  @Test(
    "what a spreadsheet would calculate is guarded",
    arguments: [
      ("=1+1", "'=1+1"), ("+49 30 1", "'+49 30 1"), ("-1", "'-1"), ("@SUM(A1)", "'@SUM(A1)"),
      ("\tx", "\"'\tx\""), ("\rx", "\"'\rx\""), ("\nx", "\"'\nx\""), (" =1", "' =1"), ("＝1", "'＝1"),
      ("\u{0}=1", "'=1"), ("\u{FEFF}=1", "'=1"), ("\u{202E}=1", "'=1"), ("=\"a\",b", "\"'=\"\"a\"\",b\""),
      ("a=1", "a=1"), ("'=1", "'=1"), ("1-1", "1-1"), ("", "\"\""),
    ])
  func formulaGuard(text: String, expected: String) {
    #expect(Self.text([.text("a", "A")], [[.text(text)]]) == "a\r\n\(expected)\r\n")
  }

  @Test(
    "what a spreadsheet would calculate is guarded after whatever it may take for the end of a cell",
    arguments: [
      ("Normal;=HYPERLINK(1)", "Normal;'=HYPERLINK(1)"), (";=1", ";'=1"), ("a; =1", "a;' =1"),
      ("a;+1;-1;@A1", "a;'+1;'-1;'@A1"), ("a;＝1", "a;'＝1"), ("a\t=1", "a\t'=1"), ("a\n=1", "a\n'=1"),
      ("a\r\n=1", "a\r\n'=1"), ("a\r=1", "a\r'=1"), ("a;\t=1", "a;\t'=1"), ("a;;=1", "a;;'=1"),
      ("a;\u{0}=1", "a;'=1"), ("a;\u{FEFF}=1", "a;'=1"), ("a,b;=1", "a,b;'=1"), ("=1;=1", "'=1;'=1"),
      ("a;b=1", "a;b=1"), ("a;1", "a;1"), ("a;'=1", "a;'=1"), ("a;", "a;"), ("a;\nb", "a;\nb"),
    ])
  func separatorGuard(text: String, expected: String) {
    #expect(Self.text([.text("a", "A")], [[.text(text)]]) == "a\r\n\"\(expected)\"\r\n")
  }

  @Test("no cell is a formula to a spreadsheet that separates by semicolons or tabs, quoted or not")
  func otherSeparators() async throws {
    let texts = [
      "Normal;=HYPERLINK(1)", "a;\"=1+1&\"", "a\t\"=1\"", "a;\"\";=1", "a\n=1", "a;\n\"=1\"", "\";=1",
      ";\"\"=1",
      "x;\" =1", "\"=1;", "a,\";=1",
    ]
    for text in texts {
      let bytes = Self.bytes(
        [.text("a", "A"), .text("b", "B")], [[.text("first"), .text(text)], [.text(text), .text("last")]])
      for separator in [";", "\t"] {
        for row in try await Python.csvRows(bytes, encoding: "utf-8", separator: separator) {
          for cell in row {
            #expect(
              !cell.trimmingCharacters(in: .whitespaces).hasPrefix("="), "\(text) by \(separator): \(cell)")
          }
        }
      }
    }
  }

  @Test("numbers stay numbers, negative ones too, and what is missing is empty")
  func numbers() {
    let cells: [ReportCell] = [
      .integer(-5), .decimal(-0.5), .decimal(0.7999), .decimal(1), .identifier(9_007_199_254_740_993),
      .boolean(true), .boolean(false), .absent, .unlimited,
    ]
    let columns = cells.indices.map { Column.text("c\($0)", "C") }
    let lines = Self.text(columns, [cells]).components(separatedBy: "\r\n")
    #expect(lines[1] == "-5,-0.5,0.7999,1.0,9007199254740993,true,false,,")
  }

  @Test("nothing that hides text or turns its order round is in a cell", arguments: HostileText.all)
  func hostile(text: HostileText) {
    let shown = Self.text([.text("a", "A")], [[.text(text.text)]])
    #expect(HostileText.found(in: shown, except: "\t\r\n") == [])
    #expect(shown.filter { $0 == "a" }.count == text.characters.unicodeScalars.count + 1)
  }

  @Test("control characters are stripped, but not the line ends and tabs that a quoted cell can hold")
  func controlCharacters() {
    let text = Self.text([.text("a", "A")], [[.text("a\u{1}b\u{7F}c\u{9B}d\u{1B}[31m\te\r\nf")]])
    #expect(text == "a\r\n\"abcd[31m\te\r\nf\"\r\n")
  }

  @Test("columns for people are left out, those for programs are in")
  func audience() {
    let columns: [Column] = [
      .text("a", "A", for: .people), .text("b", "B", for: .programs), .text("c", "C"),
    ]
    #expect(Self.text(columns, [[.text("1"), .text("2"), .text("3")]]) == "b,c\r\n2,3\r\n")
  }

  static func bytes(_ columns: [Column], _ rows: [[ReportCell]], excel: Bool = false) -> [UInt8] {
    Written.bytes(CSVView(excel: excel), columns, rows)
  }

  static func text(_ columns: [Column], _ rows: [[ReportCell]]) -> String {
    String(decoding: bytes(columns, rows), as: UTF8.self)
  }
}
