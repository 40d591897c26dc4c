import Testing

@testable import Control

@Suite("CSV is read strictly")
struct CSVReaderTests {
  private func rows(_ text: String) -> [CSVReader.Row] {
    var reader = CSVReader(Array(text.utf8))
    var rows: [CSVReader.Row] = []
    while let row = reader.next() { rows.append(row) }
    return rows
  }

  @Test(
    "what RFC 4180 allows is read",
    arguments: [
      ("a,b\r\nc,d\r\n", [["a", "b"], ["c", "d"]]),
      ("a,b\nc,d", [["a", "b"], ["c", "d"]]),
      ("a,\n,b\n", [["a", ""], ["", "b"]]),
      ("\"a,b\",\"c\"\"d\"\n", [["a,b", "c\"d"]]),
      ("\"two\r\nlines\",x\r\ny,z", [["two\r\nlines", "x"], ["y", "z"]]),
      ("\"\",\"\"\n", [["", ""]]),
      (
        ",,\r\na,b,c\r\n,,,,\r\n,,\r\nd,,\r\n,\"\",\r\n,,", [["a", "b", "c"], ["d", "", ""], ["", "", ""]]
      ),
      ("\u{FEFF}a,b\n", [["a", "b"]]),
      ("\n\r\na\n\n", [["a"]]),
      ("zoë,\"😀\"\n", [["zoë", "😀"]]),
      (" a , b \n", [[" a ", " b "]]),
      ("a\rb,c\n", [["a\rb", "c"]]),
      ("", []),
    ])
  func accepted(text: String, expected: [[String]]) throws {
    #expect(try rows(text).map { try $0.cells.get() } == expected)
  }

  @Test(
    "what it does not allow is a fault of its line, and the next line is read",
    arguments: [
      ("a\"b,c\nd,e\n", "a quote stands in a cell that does not begin with one"),
      ("\"a\"b,c\nd,e\n", "something stands after a closing quote"),
      ("x\u{0},c\nd,e\n", "it holds a NUL character"),
    ])
  func refused(text: String, sentence: String) {
    let found = rows(text)
    #expect(found.map(\.line) == [1, 2])
    #expect(found.first?.cells == .failure(CSVReader.Fault(sentence: sentence)))
    #expect(found.last?.cells == .success(["d", "e"]))
  }

  @Test("a quote that is never closed is a fault of the line where it opens, and ends the file")
  func unclosed() {
    let found = rows("a,b\nc,\"d\ne,f\n")
    #expect(found.map(\.line) == [1, 2])
    #expect(found.last?.cells == .failure(CSVReader.Fault(sentence: "the closing quote is missing")))
  }

  @Test("bytes that are not UTF-8 are a fault of their line")
  func notUTF8() {
    var reader = CSVReader([0x61, 0xFF, 0x0A, 0x62, 0x0A])
    let (first, second) = (reader.next(), reader.next())
    #expect(first?.cells == .failure(CSVReader.Fault(sentence: "it is not UTF-8 text")))
    #expect(second?.cells == .success(["b"]))
  }

  @Test("a line's number is that on which the row begins")
  func lines() {
    #expect(rows("\"1\n2\",a\nb,c\n\nd,e\n").map(\.line) == [1, 3, 5])
  }
}
