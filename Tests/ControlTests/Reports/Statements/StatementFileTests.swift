import Glibc
import TestSupport
import Testing

@testable import Control
@testable import Support

@Suite("A statement's file")
struct StatementFileTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test("The same statement makes the same bytes, for its owner alone", arguments: BillFormat.allCases)
  func same(format: BillFormat) throws {
    let statement = StatementExample.statement(others: 50)
    let first = try statement.write(to: folder.path("first"), as: format)
    let second = try statement.write(to: folder.path("second"), as: format)
    #expect(try folder.bytes("first") == folder.bytes("second"))
    #expect(first.sha256 == second.sha256)
    #expect(first.dataSHA256 == statement.sha256)
    #expect(try first.byteCount == folder.bytes("first").count)
    #expect(try folder.permissions("first") == 0o600)
    #expect(try folder.names == ["first", "second"])
  }

  @Test(
    "A closed statement that is there already is left alone, a draft is not",
    arguments: BillFormat.allCases)
  func again(format: BillFormat) throws {
    for (state, isNew) in [(ReportState.closed, false), (.draft, true)] {
      let statement = StatementExample.statement(state: state)
      #expect(try statement.write(to: folder.path("\(state)"), as: format).isNew)
      let node = try folder.node("\(state)")
      #expect(try statement.write(to: folder.path("\(state)"), as: format).isNew == isNew)
      #expect(try (folder.node("\(state)") == node) == !isNew)
    }
  }

  @Test("What is in its place stays where it cannot be written", arguments: BillFormat.allCases)
  func unwritable(format: BillFormat) throws {
    try folder.makeFolder("taken")
    for name in ["taken", "missing/statement", ""] {
      #expect { try StatementExample.statement().write(to: folder.path(name), as: format) } throws: { error in
        (error as? ReportsError)?.code == .unwritable
      }
    }
    #expect(try folder.names == ["taken"])
  }

  @Test("That a device is full is said", arguments: BillFormat.allCases)
  func full(format: BillFormat) throws {
    let link = folder.path("full.\(format)")
    #expect(symlink("/dev/full", link) == 0)
    let error = #expect(throws: ReportsError.self) {
      try StatementExample.statement().write(to: link, as: format)
    }
    #expect(error?.code == .unwritable)
    #expect(error?.message.hasPrefix("the statement was not written: ") == true, "\(error?.message ?? "")")
    #expect(error?.message.contains(strerror(ENOSPC).map { String(cString: $0) } ?? "?") == true)
    #expect(try folder.names == ["full.\(format)"])
  }

  @Test(
    "The format is that of the name's end",
    arguments: [
      ("statement.pdf", BillFormat.pdf), ("/a.b/north.HTML", .html), ("x.csv", .csv),
      ("x.y.xlsx", .xlsx),
      ("statement", nil), (".pdf", nil), ("a.pdf/statement", nil), ("x.xls", nil), ("", nil),
    ])
  func formats(path: String, format: BillFormat?) {
    #expect(BillFormat(path: path) == format)
  }
}
