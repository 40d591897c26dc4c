import Foundation
import TestSupport
import Testing

@testable import Control
@testable import Support

@Suite("A statement as a page for a browser", .enabled(if: Judge.python != nil, "needs /usr/bin/python3"))
struct StatementPageTests {
  @Test("It is well-formed, and shows every name as it is written")
  func wellFormed() async throws {
    let bytes = try Self.bytes(StatementExample.statement())
    let cells = try await Judge.elements("th", ofPage: bytes)
    for user in ["=1+1", "bob <b>\"&'America/New_York", "@مرضى عيادة الشمال"] {
      #expect(cells.contains(user))
    }
    #expect(try await Judge.elements("h1", ofPage: bytes) == ["Statement 2020-10-0007"])
    #expect(try await Judge.elements("dd", ofPage: bytes).contains("15.76 EUR"))
    #expect(try await Judge.elements("code", ofPage: bytes) == [StatementExample.statement().sha256])
    #expect(try await Judge.elements("b", ofPage: bytes).isEmpty)
  }

  @Test("Every table has a caption, every line its amount")
  func tables() async throws {
    let statement = StatementExample.statement(others: 3_000)
    let bytes = try Self.bytes(statement)
    let tables = try await Judge.elements("table", ofPage: bytes)
    #expect(try await Judge.elements("caption", ofPage: bytes).count == tables.count)
    let cells = try await Judge.elements("td", ofPage: bytes)
    #expect(cells.count { $0 == "0.50" } >= 2 * 3_000)
  }

  @Test("Its charts have titles that say what they show")
  func charts() async throws {
    let titles = try await Judge.elements("title", ofPage: Self.bytes(StatementExample.statement()))
    #expect(
      titles == [
        "Statement 2020-10-0007, North <Clinic>, October 2020",
        "Analyses a day: 161 in all, the most 10, at 3",
        "Conditions by how sure the endpoint was. Tonsillitis: green 2, yellow 9, orange 14, red 30. "
          + "Pharyngitis: green 11, yellow 4, orange 0, red 1. "
          + "Otitis media, acute, with a long name: green 0, yellow 0, orange 3, red 0",
        "Usage against the limits. Basic: used 20, used beyond the limits 2, not used 0. "
          + "Premium: used 0, used beyond the limits 0, not used 0. "
          + "Family: used 100, used beyond the limits 0, not used 300",
      ])
  }

  @Test("A condition that is the absence of a finding is normal, however sure the endpoint was")
  func normal() async throws {
    var statement = StatementExample.statement()
    statement.conditions = [
      .init("Tonsillitis", green: 2, yellow: 9, orange: 14, red: 30),
      .init("No visible finding", green: 1, yellow: 3, orange: 2, red: 4, isNormal: true),
    ]
    let titles = try await Judge.elements("title", ofPage: Self.bytes(statement))
    #expect(
      titles.contains(
        "Conditions by how sure the endpoint was. Tonsillitis: normal 0, green 2, yellow 9, orange 14, red 30. "
          + "No visible finding: normal 10, green 0, yellow 0, orange 0, red 0"), "\(titles)")
  }

  @Test("It says who bills and until when it is paid, where the product's file does; a draft is not due")
  func issuer() throws {
    var statement = StatementExample.statement()
    statement.brand = .init(
      "Blue",
      issuer: .init("Klinik <Biru>", address: ["1 Way", "Town"], taxNumber: "01.234", paymentDays: 30))
    let closed = String(decoding: try Self.bytes(statement), as: UTF8.self)
    #expect(closed.contains("<dt>Issuer</dt><dd>Klinik &lt;Biru&gt;<br/>1 Way<br/>Town</dd>"))
    #expect(closed.contains("<dt>Tax number</dt><dd>01.234</dd>"))
    #expect(closed.contains("<dt>Due</dt><dd>2020-12-04</dd>"))
    statement.state = .draft
    let draft = String(decoding: try Self.bytes(statement), as: UTF8.self)
    #expect(draft.contains("<dt>Issuer</dt>") && !draft.contains("<dt>Due</dt>"))
  }

  @Test("The name of a condition stands whole before its bar, in lines that end between words")
  func longNames() async throws {
    var statement = StatementExample.statement()
    statement.conditions.append(
      .init(String(repeating: "x", count: 60), green: 1, yellow: 0, orange: 0, red: 0))
    let drawn = try await Judge.elements("text", ofPage: Self.bytes(statement))
    for line in ["Otitis media, acute, with", "a long name", String(repeating: "x", count: 8)] {
      #expect(drawn.contains(line), "\(drawn)")
    }
  }

  @Test("One user is one user", arguments: [(1, "50 used by 1 user<"), (2, "50 used by 2 users<")])
  func plural(users: Int64, expected: String) throws {
    var statement = StatementExample.statement()
    statement.usage[1].under = users
    #expect(String(decoding: try Self.bytes(statement), as: UTF8.self).contains(expected))
  }

  @Test("It loads nothing, runs nothing, and can be printed", arguments: [0, 200])
  func selfContained(others: Int) throws {
    let text = String(decoding: try Self.bytes(StatementExample.statement(others: others)), as: UTF8.self)
    for word in ["http:", "https:", "//", "<script", "<link", "<img", "@import", "javascript:"] {
      #expect(!text.contains(word))
    }
    #expect(text.contains("url(#"))
    #expect(text.replacing("url(#", with: "").contains("url(") == false)
    #expect(text.contains("@page { size: A4"))
  }

  @Test("The clinic's logo is in the page itself, with its name for who does not see it")
  func logo() async throws {
    let statement = StatementExample.withLogo
    let bytes = try Self.bytes(statement)
    #expect(try await Judge.elements("h1", ofPage: bytes) == ["Statement 2020-10-0007"])
    let text = String(decoding: bytes, as: UTF8.self)
    let data = Data(try #require(statement.holder.logo).bytes).base64EncodedString()
    #expect(text.contains("<img class=\"logo\" src=\"data:image/jpeg;base64,\(data)\""))
    #expect(text.contains("alt=\"Logo of North &lt;Clinic&gt;\" width=\"96\" height=\"32\"/>"))
    #expect(text.contains("img-src data:"))
    #expect(statement.sha256 == StatementExample.statement().sha256)
  }

  @Test("A month in which nothing was used has no table and no chart")
  func empty() async throws {
    let bytes = try Self.bytes(StatementExample.empty)
    #expect(try await Judge.elements("table", ofPage: bytes).isEmpty)
    #expect(try await Judge.elements("svg", ofPage: bytes).isEmpty)
    #expect(try await Judge.elements("h1", ofPage: bytes) == ["Draft of a statement"])
  }

  private static func bytes(_ statement: Bill) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try BillPage(statement, sha256: statement.sha256).write { bytes += $0 }
    return bytes
  }
}
