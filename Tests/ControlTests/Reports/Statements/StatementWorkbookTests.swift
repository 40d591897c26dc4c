import Foundation
import TestSupport
import Testing

@testable import Control
@testable import Support

@Suite("A statement as a workbook")
struct StatementWorkbookTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test(
    "LibreOffice reads back every line and the totals",
    .enabled(if: Judge.office != nil && Judge.python != nil, "needs LibreOffice Calc and /usr/bin/python3"))
  func readBack() async throws {
    let statement = StatementExample.statement(others: 3_000)
    let path = try statement.write(to: folder.path("statement.xlsx"), as: .xlsx).path
    let sheets = try await Judge.sheets(of: path, in: folder)
    let lines = try #require(sheets["Lines"])
    #expect(lines.count == 1 + statement.lines.count + statement.adjustments.count)
    #expect(lines.first == Bill.columns.map(\.heading))
    #expect(lines.dropFirst().map { $0[0] } == (statement.lines + statement.adjustments).map(\.user))
    #expect(lines[2][4...5] == ["2020-10-01 00:00:00", "2020-10-15 14:30:00"])
    let amounts = (statement.lines + statement.adjustments).map { $0.amount?.double }
    #expect(lines.dropFirst().map { Double($0[12]) } == amounts)
    let summary = try #require(sheets["Statement"])
    #expect(summary.contains(["Total amount (EUR)", "1515.76"]))
    #expect(summary.contains(["SHA-256 of the CSV", statement.sha256]))
    #expect(summary.contains(["", "10110 Jakarta"]))
  }

  @Test(
    "Numbers and times are cells of numbers, names are text and never formulas",
    .enabled(if: Judge.python != nil, "needs /usr/bin/python3"))
  func kinds() async throws {
    let path = try StatementExample.statement().write(to: folder.path("statement.xlsx"), as: .xlsx).path
    let sheet = try await Judge.part("xl/worksheets/sheet2.xml", of: path)
    #expect(!sheet.contains("<f>"))
    #expect(sheet.contains("<t>=1+1</t>"))
    // Units, price, amount of the second line, and the moment at which its plan ended: half past two on the 15th.
    for cell in ["\"J3\"", "\"L3\"", "\"M3\"", "\"F3\""] {
      let start = try #require(sheet.firstRange(of: "<c r=\(cell)"))
      let tag = sheet[start.lowerBound...].prefix { $0 != ">" }
      #expect(!tag.contains("t="), "\(cell) is \(tag)")
    }
    #expect(sheet.contains("<v>44119.6041666666"))
    #expect(sheet.contains("state=\"frozen\""))
    let properties = try await Judge.part("docProps/core.xml", of: path)
    #expect(properties.contains("2020-11-04T02:15:00Z"))
  }

  @Test(
    "The clinic's logo stands above the title as it is kept, with its name",
    .enabled(if: Judge.python != nil, "needs /usr/bin/python3"))
  func logo() async throws {
    let statement = StatementExample.withLogo
    let path = try statement.write(to: folder.path("statement.xlsx"), as: .xlsx).path
    let picture = try await Judge.part("xl/media/image1.jpeg", of: path)
    #expect(picture == String(decoding: try #require(statement.holder.logo).bytes, as: UTF8.self))
    let drawing = try await Judge.part("xl/drawings/drawing1.xml", of: path)
    // It ends above the title.
    #expect(drawing.contains("<xdr:row>0</xdr:row>") && drawing.contains("<xdr:row>1</xdr:row>"))
    #expect(drawing.contains("descr=\"Logo of North &lt;Clinic&gt;\""))
    #expect(try await Judge.part("xl/worksheets/sheet1.xml", of: path).contains("<c r=\"A4\""))
  }

  @Test(
    "Where the disk is full there is no workbook, and not one without rows",
    .enabled(if: getuid() == 0, "needs root"))
  func fullDisk() async throws {
    let volume = try await SmallVolume(megabytes: 2)
    let outcome = Result {
      try StatementExample.statement(others: 5_000).write(to: "\(volume.path)/x", as: .xlsx)
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: volume.path)
    await volume.remove()
    #expect(throws: ReportsError.self) { try outcome.get() }
    #expect(left.isEmpty)
  }

  @Test(
    "A number that a cell would round is written as its digits",
    .enabled(if: Judge.python != nil, "needs /usr/bin/python3"))
  func largeNumbers() async throws {
    var statement = StatementExample.statement()
    statement.lines[1].amount = .of("12345678901234567.89")
    statement.lines[2].units = .max
    let path = try statement.write(to: folder.path("statement.xlsx"), as: .xlsx).path
    let sheet = try await Judge.part("xl/worksheets/sheet2.xml", of: path)
    #expect(sheet.contains("<t>12345678901234567.89</t>"))
    #expect(sheet.contains("<t>9223372036854775807</t>"))
  }
}
