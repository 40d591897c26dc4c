import Foundation
import TestSupport
import Testing

@testable import Control
@testable import Support
@testable import statement_printer

@Suite(
  "A statement as PDF",
  .enabled(
    if: Judge.pdfToText != nil && Judge.pdfInfo != nil, "needs pdftotext and pdfinfo, of poppler-utils"))
struct StatementPrintTests {
  @Test("It names all that the statement is, and every amount")
  func content() async throws {
    let statement = StatementExample.statement()
    let text = try await Judge.text(ofPDF: write(statement))
    let words = [
      "Statement 2020-10-0007", "North <Clinic>", "1 Harbour Street", "10110 Jakarta", "October 2020",
      "closed on 2020-11-04T09:15:00+07:00", "15.76 EUR", statement.sha256, "=1+1", "bob <b>\"&'",
      "America/New_York", "14:30", "2 failed, 1 cancelled since the month", "-1.50", "unlimited",
      "page 1 of 2",
    ]
    for word in words { #expect(text.contains(word), "\(word) is missing") }
    for line in statement.lines + statement.adjustments {
      if let amount = line.amount { #expect(text.contains(amount.description)) }
    }
    // Arabic letters as such, joined or not, and none of them a box.
    #expect(text.contains("عيادة"))
  }

  @Test("Three thousand lines go over many pages, each with the table's head and its number")
  func pages() async throws {
    let statement = StatementExample.statement(others: 3_000)
    let path = try write(statement)
    let pages = try await Judge.text(ofPDF: path).split(separator: "\u{0C}")
    #expect(pages.count > 40)
    for (index, page) in pages.enumerated() {
      #expect(page.contains("page \(index + 1) of \(pages.count)"))
      if index > 0, index < pages.count - 1 { #expect(page.contains("Until")) }
    }
    let rows = pages.joined().split(separator: "\n").filter { $0.hasPrefix("user-") }
    #expect(rows.count == 3_000)
    #expect(rows.allSatisfy { $0.hasSuffix("0.50") })
  }

  @Test("The SHA-256 stands on one line, whatever its digits are", arguments: ["0", "b", "d", "9"])
  func hash(digit: String) async throws {
    let hash = String(repeating: digit, count: 64)
    try folder.write(BillPrint(StatementExample.statement(), sha256: hash).pdf(), to: "hash.pdf")
    let lines = try await Judge.text(ofPDF: folder.path("hash.pdf")).split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("SHA-256 of the CSV ") && $0.hasSuffix(" \(hash)") })
  }

  @Test("It says when the month was closed, not when it was written")
  func metadata() async throws {
    let facts = try await Judge.facts(ofPDF: write(StatementExample.statement()))
    #expect(facts.contains("Statement 2020-10-0007, North <Clinic>, October 2020"))
    #expect(facts.contains("CreationDate:    2020-11-04T09:15:00+07"))
    #expect(facts.contains("(A4)"))
  }

  @Test("It has the charts of the page, each named, with its numbers and what its patterns mean")
  func charts() async throws {
    let text = try await Judge.text(ofPDF: write(StatementExample.statement()))
    let words = [
      "The month in pictures", "Analyses a day", "161 in all, the most 10, at 3",
      "Conditions by how sure the endpoint was", "green", "yellow", "orange", "red", "55 in all",
      "Tonsillitis",
      "Usage against the limits", "used beyond the limits", "not used", "22 of 20", "100 of 400",
      "no limit, 50 used by 3 users", "users: 40 under, 2 at, 0 over their limits",
    ]
    for word in words { #expect(text.contains(word), "\(word) is missing") }
    #expect(!(try await Judge.text(ofPDF: write(StatementExample.empty))).contains("in pictures"))
  }

  @Test("A hundred conditions go over pages, each bar whole")
  func manyConditions() async throws {
    var statement = StatementExample.statement()
    statement.conditions = (0..<100).map {
      .init("condition \($0)", green: 1, yellow: 20, orange: 300, red: Int64($0) * 100)
    }
    let pages = try await Judge.text(ofPDF: write(statement)).split(separator: "\u{0C}")
    #expect(pages.count > 2)
    let text = pages.joined(separator: "\n")
    for number in 0..<100 {
      #expect(text.contains("\(321 + number * 100) in all"))
      #expect(text.contains("condition \(number)"))
    }
  }

  @Test("No page has a single bar of a chart, and a long name of a condition is whole")
  func bars() async throws {
    var statement = StatementExample.statement()
    statement.usage = []
    for count in 2...40 {
      statement.conditions = (0..<count).map {
        .init("a condition with the long name \($0)", green: 1, yellow: 0, orange: 0, red: 0)
      }
      let pages = try await Judge.text(ofPDF: write(statement)).split(separator: "\u{0C}")
      let bars = pages.map { $0.matches(of: /\b1 in all/).count }
      #expect(bars.reduce(0, +) == count && !bars.contains(1), "\(count): \(bars)")
    }
    let text = try await Judge.text(ofPDF: write(statement)).split(whereSeparator: \.isWhitespace)
    #expect(text.count { $0 == "long" } == 40)
  }

  @Test("Who sees months that end on another day is told, and no one else")
  func otherMonths() async throws {
    var statement = StatementExample.statement()
    let note = "A line is of the month in which the user's month ends."
    #expect(!(try await Judge.text(ofPDF: write(statement))).contains(note))
    statement.lines[0].from = LocalTime(2020, 9, 15, ahead: 7)
    #expect(try await Judge.text(ofPDF: write(statement)).replacing("\n", with: " ").contains(note))
  }

  @Test("A month in which nothing was used is a page")
  func empty() async throws {
    let text = try await Judge.text(ofPDF: write(StatementExample.empty))
    #expect(text.contains("Nothing was used in this month."))
    #expect(text.contains("it may still change"))
  }

  @Test("The clinic's logo is in it as it is kept, once")
  func logo() async throws {
    let logo = try #require(StatementExample.withLogo.holder.logo)
    let path = try write(StatementExample.withLogo)
    #expect(try await Judge.text(ofPDF: path).contains("page 1 of 2"))
    let bytes = Data(try folder.bytes("statement.pdf"))
    let first = try #require(bytes.range(of: Data(logo.bytes)))
    #expect(bytes.range(of: Data(logo.bytes), in: first.upperBound..<bytes.endIndex) == nil)
  }

  @Test("A cell that is long is broken into lines, and a foreign text cannot fill pages")
  func longCells() async throws {
    var statement = StatementExample.statement()
    statement.lines[1].user = String(repeating: "w", count: 5_000)
    let path = try write(statement)
    #expect(try await Judge.text(ofPDF: path).contains("page 1 of 2"))
  }

  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func write(_ statement: Bill) throws -> String {
    try statement.write(to: folder.path("statement.pdf"), as: .pdf).path
  }
}
