import TestSupport
import Testing

@testable import Control

@Suite("Table")
struct TableViewTests {
  static let columns: [Column] = [
    .text("user", "User"), .number("used", "Used"), .text("key", "Key", for: .programs),
    .text("plan", "Plan"),
  ]

  @Test("words stand left, numbers right, and no line ends with blanks")
  func alignment() {
    let text = Written.text(
      TableView(), Self.columns,
      [
        [.text("ana"), .integer(12_345), .text("k"), .text("Basic")],
        [.text("bartholomew"), .integer(7), .text("k"), .absent],
        [.text("日本語"), .unlimited, .text("k"), .boolean(true)],
      ])
    #expect(
      text == """
        USER              USED  PLAN
        ana              12345  Basic
        bartholomew          7
        日本語       unlimited  yes

        usage of 2020-10, draft, 3 rows, times in each user's zone

        """)
  }

  @Test("a report without rows has its header")
  func empty() {
    #expect(
      Written.text(TableView(), Self.columns, [], zone: "UTC") == """
        USER  USED  PLAN

        usage of 2020-10, draft, 0 rows, times in UTC

        """)
  }

  @Test("a narrow terminal takes from the widest words first, and never from numbers")
  func narrow() {
    let text = Written.text(
      TableView(width: 30), Self.columns,
      [[.text("a-user-with-a-long-name"), .integer(123_456_789), .absent, .text("Premium")]])
    let lines = text.split(separator: "\n")
    #expect(lines[1] == "a-user-wi…  123456789  Premium")
  }

  @Test("a terminal's control sequences and marks of direction do not reach it")
  func harmless() {
    let text = Written.text(
      TableView(), Self.columns, [[.text("a\u{1B}[2Jb\u{202E}c\nd\te"), .integer(1), .absent, .absent]])
    #expect(text.split(separator: "\n")[1] == "a[2Jbc d e     1")
  }

  @Test("a number that names something is never cut, however narrow the terminal or late the row")
  func identifiers() {
    var view = TableView(width: 12)
    var bytes: [UInt8] = []
    view.begin([.identifier("job", "Job"), .text("user", "User")], into: &bytes)
    for _ in 0..<1_000 { view.row([.identifier(7), .text("somebody")], at: [0, 1], into: &bytes) }
    view.row([.identifier(13_200_000), .text("somebody else")], at: [0, 1], into: &bytes)
    #expect(String(decoding: bytes, as: UTF8.self).hasSuffix("\n7    somebody\n13200000  somebod…\n"))
  }

  @Test("nothing that hides text or turns its order round is in a table", arguments: HostileText.all)
  func hostile(text: HostileText) {
    let shown = Written.text(TableView(), Self.columns, [[.text(text.text), .integer(1), .absent, .absent]])
    #expect(HostileText.found(in: shown, except: "\n") == [])
  }

  @Test("rows after those that were measured keep the widths and are not held")
  func manyRows() {
    var view = TableView()
    var bytes: [UInt8] = []
    view.begin([.text("a", "A")], into: &bytes)
    for _ in 0..<1_000 { view.row([.text("xx")], at: [0], into: &bytes) }
    let released = bytes.count
    #expect(released == 1_001 * 3 - 1)  // "A" and a line end are two bytes, the others three
    view.row([.text("longer")], at: [0], into: &bytes)
    #expect(String(decoding: bytes[released...], as: UTF8.self) == "l…\n")
  }
}
