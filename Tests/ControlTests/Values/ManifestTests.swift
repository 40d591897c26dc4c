import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

@Suite("A manifest is read")
struct ManifestTests {
  private func rows(_ text: String, name: String = "lease") throws -> [ManifestRow] {
    try Manifest.rows(Array(text.utf8), name: name)
  }

  private func fault(_ text: String, name: String = "batch.csv") -> CommandFailure? {
    do {
      _ = try Manifest.rows(Array(text.utf8), name: name)
      return nil
    } catch {
      return error
    }
  }

  private let whole = ManifestRow.Content(
    source: .file("a.jpg"), user: "u1", kind: .ear, priority: .urgent, at: 1_790_812_800.25, key: "k",
    expires: 1_790_899_200, reference: "visit-4711")

  @Test("a CSV with every column, in any order")
  func everyColumn() throws {
    let text = """
      expires,key,at,priority,type,reference,user,file
      2026-10-02T00:00:00Z,k,2026-10-01T07:00:00.250+07:00,urgent,ear,visit-4711,u1,a.jpg
      """
    #expect(try rows(text, name: "batch.csv") == [ManifestRow(line: 2, content: .success(whole))])
  }

  @Test("a CSV whose header has semicolons has them in its rows; a comma is then a part of a cell")
  func semicolons() throws {
    let found = try rows(
      "\u{FEFF}file;reference\r\n\"a;b.jpg\";visit 1, again\r\nc.jpg;\r\n", name: "batch.csv")
    #expect(
      found.map(\.content) == [
        .success(ManifestRow.Content(source: .file("a;b.jpg"), reference: "visit 1, again")),
        .success(ManifestRow.Content(source: .file("c.jpg"))),
      ])
    // A semicolon in a row says nothing: the header has none.
    #expect(
      try rows("file\na;b.jpg\n").map(\.content) == [.success(ManifestRow.Content(source: .file("a;b.jpg")))])
    #expect(fault("file;user,type\na.jpg;u1,ear\n")?.message == "batch.csv:1: there is no column 'file;user'")
  }

  @Test("a reference has at most 200 characters")
  func references() throws {
    let long = String(repeating: "x", count: 201)
    let row = try #require(try rows("file,reference\na.jpg,\(long)\n").first)
    guard case .failure(let fault) = row.content else {
      Issue.record("it was taken")
      return
    }
    #expect(fault.sentence.hasSuffix("is longer than 200 characters"))
  }

  @Test("JSON Lines with every member, empty lines passed over")
  func jsonLines() throws {
    let text = """

      {"file": "a.jpg", "user": "u1", "type": "ear", "priority": "urgent", "key": "k", "reference": "visit-4711", \
      "at": "2026-10-01T07:00:00.250+07:00", "expires": "2026-10-02T00:00:00Z"}\r
      {"file": "b.jpg", "user": null}
      """
    let found = try rows(text)
    #expect(found.map(\.line) == [2, 3])
    #expect(found.first?.content == .success(whole))
    #expect(found.last?.content == .success(ManifestRow.Content(source: .file("b.jpg"))))
  }

  @Test("an image by URL, in a column of its own or beside files")
  func urls() throws {
    let url = "https://img.example.org/a.jpg?x=1,2"
    let row = ManifestRow.Content(source: .url(url))
    #expect(try rows("url\n\"\(url)\"\n").map(\.content) == [.success(row)])
    let mixed = try rows("file,url\na.jpg,\n,\"\(url)\"\n")
    #expect(mixed.map(\.content) == [.success(ManifestRow.Content(source: .file("a.jpg"))), .success(row)])
    #expect(mixed.map(\.namesURL) == [false, true])
    #expect(try rows("{\"url\": \"\(url)\"}\n").map(\.content) == [.success(row)])
  }

  @Test("a row with a file and a URL, or with neither, is a fault, which does not repeat the URL")
  func urlFaults() throws {
    let found = try rows("file,url,user\na.jpg,https://img.example.org/SECRET,u1\n,,u1\n,https://x/SECRET\n")
    #expect(
      found.map(\.content) == [
        .failure(ManifestRow.Fault(sentence: "it names both a file and a url")),
        .failure(ManifestRow.Fault(sentence: "it names no file and no url")),
        .failure(ManifestRow.Fault(sentence: "it has 2 cells, and the header 3")),
      ])
  }

  @Test("an empty cell leaves it to the command line")
  func emptyCells() throws {
    let found = try rows("file,user,type,priority,at,key,expires\nb.jpg,,,,,,\n")
    #expect(found.map(\.content) == [.success(ManifestRow.Content(source: .file("b.jpg")))])
  }

  @Test("a byte order mark and CRLF, as spreadsheets write")
  func spreadsheet() throws {
    let found = try rows("\u{FEFF}file,user\r\na.jpg,u1\r\n", name: "batch.csv")
    #expect(found.map(\.content) == [.success(ManifestRow.Content(source: .file("a.jpg"), user: "u1"))])
  }

  @Test(
    "a row that cannot be used says why, and the others are used",
    arguments: [
      (",u1,ear", "it names no file and no url"),
      ("a.jpg,u1,nose", "type 'nose' is not one of throat, ear"),
      ("a.jpg,u1", "it has 2 cells, and the header 3"),
      ("a.jpg,u1,\"ear", "the closing quote is missing"),
    ])
  func badRow(row: String, sentence: String) throws {
    let found = try rows("file,user,type\ngood.jpg,u1,ear\n\(row)\n", name: "batch.csv")
    #expect(found.count == 2)
    #expect(found.last?.line == 3)
    #expect(found.last?.content == .failure(ManifestRow.Fault(sentence: sentence)))
  }

  @Test(
    "a time without a zone and a key that is too long are faults of their row",
    arguments: [("at", "2026-10-01T07:00:00", "at"), ("key", String(repeating: "k", count: 201), "key")])
  func badValue(column: String, text: String, named: String) throws {
    let found = try rows("file,\(column)\na.jpg,\(text)\n")
    guard case .failure(let fault) = found.first?.content else {
      Issue.record("the row was taken")
      return
    }
    #expect(fault.sentence.hasPrefix("\(named) '"))
  }

  @Test(
    "a line of JSON that cannot be used says why",
    arguments: [
      ("{\"file\": 7}", "it is not a JSON object whose values are texts"),
      ("[1]", "it is not a JSON object whose values are texts"),
      ("{\"file\": \"a\"", "it is not a JSON object whose values are texts"),
      (
        "{\"fiel\": \"a\"}",
        "there is no 'fiel'; it may hold file, url, user, type, priority, at, key, expires, reference"
      ),
    ])
  func badLine(line: String, sentence: String) throws {
    let found = try rows("\(line)\n{\"file\":\"a.jpg\"}\n", name: "lease.jsonl")
    #expect(found.map(\.line) == [1, 2])
    #expect(found.first?.content == .failure(ManifestRow.Fault(sentence: sentence)))
    #expect(found.last?.content == .success(ManifestRow.Content(source: .file("a.jpg"))))
  }

  @Test(
    "a header that cannot be used ends it, with code 66",
    arguments: [
      ("", "batch.csv is empty"),
      ("file,colour\n", "batch.csv:1: there is no column 'colour'"),
      ("file,file\n", "batch.csv:1: the column 'file' is there twice"),
      ("user,type\n", "batch.csv:1: there is no column 'file' and no column 'url'"),
      ("\"file\n", "batch.csv:1: the closing quote is missing"),
    ])
  func badHeader(text: String, message: String) {
    let error = fault(text)
    #expect(error?.exitCode.code == 66)
    #expect(error?.message == message)
  }

  @Test("a foreign word in a fault is bounded and free of control characters")
  func foreignWords() throws {
    let marks = String(repeating: "\u{301}", count: 5000)
    let shown = "ty[2Jpe" + String(repeating: "\u{301}", count: 52) + "…"
    #expect(fault("file,ty\u{1B}[2Jpe\(marks)\n")?.message == "batch.csv:1: there is no column '\(shown)'")
    let json = try rows("{\"ty\\u001b[2Jpe\(marks)\": \"a\"}\n", name: "lease.jsonl")
    let sentence = "there is no '\(shown)'; it may hold \(ManifestColumn.list)"
    #expect(json.first?.content == .failure(ManifestRow.Fault(sentence: sentence)))
  }

  @Test(
    "the ending decides the form, else the first character",
    arguments: [("x.jsonl", true), ("x.ndjson", true), ("x.JSON", true), ("x", true), ("x.csv", false)])
  func form(name: String, isJSON: Bool) {
    let text = "{\"file\":\"a.jpg\"}\n"
    #expect((fault(text, name: name) == nil) == isJSON)
  }
}
