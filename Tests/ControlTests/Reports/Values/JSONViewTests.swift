import Foundation
import TestSupport
import Testing

@testable import Control

@Suite("JSON")
struct JSONViewTests {
  static let columns: [Column] = [
    .text("job", "Job"), .text("name", "Name"), .number("count", "Count"), .number("sure", "Sure"),
    .text("yes", "Yes"), .text("nothing", "Nothing"), .number("limit", "Limit"),
    .text("people", "People", for: .people),
  ]

  @Test("ids are texts, numbers numbers, and what is missing is null")
  func types() throws {
    let row: [ReportCell] = [
      .identifier(9_007_199_254_740_993), .text("x"), .integer(-2), .decimal(0.7999), .boolean(true), .absent,
      .unlimited, .text("hidden"),
    ]
    let value = try Self.decode([row])
    #expect(
      value["data"]?.list == [
        .object([
          "job": "9007199254740993", "name": "x", "count": -2, "sure": 0.7999, "yes": true, "nothing": nil,
          "limit": nil,
        ])
      ])
  }

  @Test(
    "hostile texts come back as they were", arguments: CSVViewTests.hostile + ["\u{2020}", "\u{7F}", "=1+1"])
  func texts(text: String) throws {
    let row: [ReportCell] = [.absent, .text(text), .absent, .absent, .absent, .absent, .absent, .absent]
    let value = try Self.decode([row])
    #expect(value["data"]?.list?.first?["name"] == .text(text))
  }

  @Test(
    "nothing that hides text or turns its order round is in JSON, and it means the same",
    arguments: HostileText.all)
  func hostile(text: HostileText) throws {
    let row: [ReportCell] = [.absent, .text(text.text), .absent, .absent, .absent, .absent, .absent, .absent]
    let bytes = Written.bytes(JSONView(), Self.columns, [row])
    #expect(HostileText.found(in: String(decoding: bytes, as: UTF8.self), except: "\n") == [])
    #expect(try Self.decode([row])["data"]?.list?.first?["name"] == .text(text.text))
  }

  @Test("the meta says what the rows are", arguments: [0, 1, 3])
  func meta(count: Int) throws {
    let row = Self.columns.map { _ in ReportCell.absent }
    let value = try Self.decode(Array(repeating: row, count: count), zone: "Asia/Jakarta")
    #expect(value["data"]?.list?.count == count)
    #expect(
      value["meta"]
        == .object([
          "report": "usage", "month": "2020-10", "zone": "Asia/Jakarta", "state": "draft",
          "rows": .number(Double(count)), "generated_at": "2020-11-02T03:04:05Z",
        ]))
  }

  @Test("without a zone asked for, times are in the users' billing zones")
  func billingZone() throws {
    #expect(try Self.decode([])["meta"]?["zone"] == "billing")
  }

  static func decode(_ rows: [[ReportCell]], zone: String? = nil) throws -> ReadJSON {
    try JSONDecoder().decode(ReadJSON.self, from: Data(Written.bytes(JSONView(), columns, rows, zone: zone)))
  }
}
