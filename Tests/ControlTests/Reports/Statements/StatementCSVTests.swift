import TestSupport
import Testing

@testable import Control
@testable import Support

@Suite("A statement as CSV")
struct StatementCSVTests {
  @Test("A row a segment, a row an adjustment, and the totals; byte for byte")
  func golden() {
    #expect(Self.text(StatementExample.statement()) == Self.expected.replacing("\n", with: "\r\n"))
  }

  @Test("What has no price has neither price, amount nor currency")
  func noPrices() {
    #expect(
      Self.text(StatementExample.empty)
        == "\(Self.header)\r\n,2020-10,total,,,,,,,0,0,,,,\r\n")
  }

  @Test("The statement's SHA-256 is that of the CSV's bytes")
  func hash() async throws {
    let statement = StatementExample.statement(others: 3_000)
    #expect(try await statement.sha256 == Python.sha256(Self.bytes(statement)))
  }

  @Test("A negative amount is a number to a spreadsheet, and a name that begins as a formula is text")
  func formulas() async throws {
    let rows = try await Python.csvRows(Self.bytes(StatementExample.statement()), encoding: "utf-8")
    #expect(rows.map { $0[12] }.contains("-1.50"))
    #expect(
      rows.map { $0[0] }.filter { $0.contains("=") || $0.contains("@") }.allSatisfy { $0.hasPrefix("'") })
  }

  static func bytes(_ statement: Bill) -> [UInt8] {
    var bytes: [UInt8] = []
    statement.writeCSV { bytes += $0 }
    return bytes
  }

  private static func text(_ statement: Bill) -> String {
    String(decoding: bytes(statement), as: UTF8.self)
  }

  private static let header =
    "user,month,line,zone,from,until,plan,plan_name,limit,units,over,price,amount,currency,reason"

  private static let expected = """
    \(header)
    '=1+1,2020-10,month,Asia/Jakarta,2020-10-01T00:00:00+07:00,2020-11-01T00:00:00+07:00,premium,Premium,,3,0,\
    0.125,0.38,EUR,
    ana,2020-10,month,Asia/Jakarta,2020-10-01T00:00:00+07:00,2020-10-15T14:30:00+07:00,free,Basic,10,12,2,\
    0.50,6.00,EUR,
    ana,2020-10,month,Asia/Jakarta,2020-10-15T14:30:00+07:00,2020-11-01T00:00:00+07:00,premium,Premium,,40,0,\
    0.125,5.00,EUR,
    "bob <b>""&'",2020-10,month,America/New_York,2020-10-01T00:00:00-04:00,2020-11-01T00:00:00-04:00,premium,\
    Premium,,7,0,0.125,0.88,EUR,
    "idle, without a plan",2020-10,month,Asia/Jakarta,2020-10-01T00:00:00+07:00,2020-11-01T00:00:00+07:00,,,,\
    0,0,,,,
    '@مرضى عيادة الشمال,2020-10,month,Asia/Jakarta,2020-10-01T00:00:00+07:00,2020-11-01T00:00:00+07:00,free,\
    Basic,10,10,0,0.50,5.00,EUR,
    ana,2020-09,adjustment,Asia/Jakarta,2020-09-01T00:00:00+07:00,2020-10-01T00:00:00+07:00,free,Basic,,-3,0,\
    0.50,-1.50,EUR,"2 failed, 1 cancelled since the month was closed"
    ,2020-10,total,,,,,,,69,2,,15.76,EUR,

    """
}
