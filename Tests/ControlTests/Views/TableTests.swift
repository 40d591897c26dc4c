import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("Tables of a terminal")
struct TableTests {
  @Test("nothing that could fool a terminal or its reader is printed", arguments: HostileText.all)
  func hostile(text: HostileText) {
    var table = Table([.init(text.text)])
    table.add([Cell(text.text)])
    #expect(HostileText.found(in: table.render(), except: "\n") == [])
  }

  @Test("a table is aligned: texts left, numbers right, wide characters by the columns they take")
  func table() {
    var table = Table([.init("user"), .init("used", alignment: .right), .init("note")])
    table.add(["a", Cell(7), "x"])
    table.add(["漢字", Cell(1234), ""])
    table.add(["e\u{301}", Cell(-5), "y\u{1B}[2J"])
    #expect(table.render() == "user  used  note\na        7  x\n漢字  1234  \ne\u{301}       -5  y[2J\n")
    #expect(table.count == 3)
  }

  @Test("a table that is too wide is cut where it may be")
  func narrow() {
    var table = Table([.init("id"), .init("reason", shrinks: true), .init("n", alignment: .right)])
    table.add(["17", "a very long reason indeed", Cell(3)])
    #expect(table.render(width: 20) == "id  reason         n\n17  a very long …  3\n")
    let tiny = table.render(width: 5).split(separator: "\n")
    #expect(tiny.last == "17  a very …  3")
  }

  @Test("what names a row goes on in the next line, after what may be cut or left out")
  func wrapped() {
    var table = Table([
      .init("user", wraps: true), .init("zone", shrinks: true), .init("note", mayGo: true), .init("n"),
    ])
    table.add([Cell("a-very-long-user-of-thirty-char", .red), "Asia/Jakarta", "x", Cell(3)])
    table.add(["u1", "UTC", "", Cell(4)])
    #expect(
      table.render(width: 26) == """
        user           zone      n
        a-very-long-u  Asia/Ja…  3
        ser-of-thirty
        -char
        u1             UTC       4

        """)
    #expect(table.render(width: 26, paint: Paint(true)).contains("\n\u{1B}[31m-char\u{1B}[0m\n"))
    #expect(table.render().split(separator: "\n").count == 3)
  }

  @Test("colours come round the text, and only where they are wanted")
  func colours() {
    var table = Table([.init("band"), .init("n")])
    table.add([Cell("red", .red), "1"])
    #expect(table.render().hasSuffix("red   1\n"))
    #expect(table.render(paint: Paint(true)).hasSuffix("\u{1B}[31mred\u{1B}[0m   1\n"))
  }
}
