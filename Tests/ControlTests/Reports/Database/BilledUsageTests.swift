import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

@Suite("Usage with what is billed, beside the bills")
struct BilledUsageTests {
  /// A row of the file by its columns.
  private typealias Line = [String: String]

  private static func file(_ billing: Billing, _ month: String, _ options: String...) async throws -> [Line] {
    let ran = await billing.queue.control.run(
      ["report", "usage", "--month", month, "--format", "csv"] + options)
    #expect([.done, .jobsStillOpen].contains(ran.code), "\(ran.messages)")
    let rows = ran.output.split(separator: "\r\n").map {
      $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }
    return rows.dropFirst().map { Dictionary(zip(rows[0], $0)) { first, _ in first } }
  }

  /// What the lines of a file come to, in each currency.
  private static func sums(_ lines: [Line]) throws -> [String: Decimal] {
    try lines.filter { $0["amount"] != "" }.reduce(into: [:]) { sums, line in
      let amount = try #require(line["amount"].flatMap { Decimal(string: $0) })
      let units = try #require(line["units"].flatMap { Decimal(string: $0) })
      let price = try #require(line["unit_price"].flatMap { Decimal(string: $0) })
      // Each line explains itself: it lies within half a coin of its product.
      #expect(
        abs(units * price - amount)
          <= Decimal(sign: .plus, exponent: line["currency"] == "JPY" ? -1 : -3, significand: 5))
      sums[line["currency"] ?? "", default: 0] += amount
    }
  }

  private static func bill(
    _ billing: Billing, _ month: String, _ holder: BillRequest.Holder, _ currency: String
  ) async throws -> Decimal {
    let statement = try await billing.statement(month, holder, currency: currency)
    return try statement.total.amount.map { try #require(Decimal(string: $0.description)) } ?? 0
  }

  /// Compares a file with the bill of every clinic, and of every user.
  private static func compare(_ billing: Billing, _ month: String) async throws {
    let lines = try await file(billing, month, "--prices")
    for currency in ["EUR", "JPY"] {
      for clinic in ["north", "south"] {
        let sum = try sums(lines.filter { $0["clinic"] == clinic })[currency] ?? 0
        #expect(try await bill(billing, month, .clinic(clinic), currency) == sum, "\(month) \(clinic)")
        let own = try await sums(file(billing, month, "--prices", "--clinic", clinic))
        #expect(own[currency] ?? 0 == sum, "\(month) \(clinic), asked for alone")
      }
      for user in Set(lines.compactMap { $0["user"] }) {
        let sum = try sums(lines.filter { $0["user"] == user })[currency] ?? 0
        #expect(try await bill(billing, month, .user(user), currency) == sum, "\(month) \(user)")
      }
    }
    // Behind the columns of version 1.0, which stay as they are.
    let plain = try await file(billing, month)
    let names = UsageReport.columns.filter { $0.isShown(to: .programs) }.map(\.name)
    let counted = lines.filter { $0["line"] != "segment" }.map { line in
      line.filter { names.contains($0.key) }
    }
    #expect(plain == counted)
    #expect(plain.first?.count == names.count && lines.first?.count == names.count + 5)
    // Each unit is billed once.
    func total(_ column: String) -> Int { lines.reduce(0) { $0 + (Int($1[column] ?? "") ?? 0) } }
    #expect(total("used") == total("units"))
  }

  /// Users of three zones, in two clinics and in none, whose plans, limits and prices change within the month.
  private static func plant(_ billing: Billing) async throws {
    try await billing.queue.execute(
      """
      INSERT INTO analysis.plan (id, name, display_name, created_at)
      VALUES (9, 'yen', 'Yen', '-infinity'), (10, 'gift', 'Gift', '-infinity');
      INSERT INTO analysis.plan_limit (plan_id, valid_from, monthly_limit)
      VALUES (9, '-infinity', NULL), (10, '-infinity', NULL), (7, '2020-10-12 09:00Z', 3);
      SELECT analysis.add_clinic('south');
      """)
    // Half a coin and less, a price that changes, a currency without coins, and a plan that costs nothing.
    try await billing.setPrice("basic", "0.005")
    try await billing.setPrice("plus", "0.335")
    try await billing.setPrice("plus", "0.115", from: "2020-10-20")
    try await billing.setPrice("yen", "12.5", "JPY")
    for number in 1...18 {
      let user = "u\(number)"
      try await billing.add(user, zone: ["UTC", "Asia/Jakarta", "America/New_York"][number % 3])
      let clinic = number % 5 == 0 ? "NULL" : number % 2 == 0 ? "'north'" : "'south'"
      try await billing.queue.execute("SELECT analysis.assign_clinic(0::smallint, '\(user)', \(clinic))")
      if number % 4 > 0 {
        try await billing.setPlan(user, ["plus", "yen", "gift"][number % 4 - 1], from: "2020-09-01 00:00Z")
      }
      if number % 3 == 0 { try await billing.setPlan(user, "plus", from: "2020-10-10 12:00Z") }
      if number % 7 == 0 { try await billing.setPlan(user, "yen", from: "2020-10-25 12:00Z") }
      try await billing.take(
        user,
        at: (0..<(number % 8)).map {
          "2020-10-\(["02", "06", "11", "13", "19", "21", "24", "28"][$0]) 18:30Z"
        })
    }
  }

  @Test(
    "The amounts of every clinic and user add up to their statements, of a draft, a closed month and adjustments"
  )
  func sums() async throws {
    try await withBilling { billing in
      try await Self.plant(billing)
      try await Self.compare(billing, "2020-10")
      let draft = try await Self.file(billing, "2020-10", "--prices")
      #expect(draft.contains { $0["line"] == "segment" } && draft.contains { $0["clinic"] == "" })

      try await billing.close("2020-10")
      #expect(try await Self.file(billing, "2020-10", "--prices") == draft)
      // Who moves was billed where they were, and the name is that of then.
      try await billing.queue.execute(
        """
        SELECT analysis.assign_clinic(0::smallint, 'u2', 'south'), analysis.assign_clinic(0::smallint, 'u3', 'north')
        """)
      try await Self.compare(billing, "2020-10")
      #expect(try await Self.file(billing, "2020-10", "--prices") == draft)

      for user in ["u2", "u3", "u6", "u7", "u15"] {
        try await billing.failFirst(of: user, at: "2020-11-20 08:00Z")
      }
      try await billing.close("2020-11")
      let later = try await Self.file(billing, "2020-11", "--prices")
      #expect(later.contains { $0["line"] == "adjustment" && $0["amount"]?.hasPrefix("-") == true })
      try await Self.compare(billing, "2020-11")
    }
  }

  @Test("What cron writes has prices in months that have some, and else the columns of version 1.0")
  func due() async throws {
    try await withBilling { billing in
      try await billing.add("ana", zone: "UTC")
      try await billing.take("ana", at: ["2020-09-05 10:00Z"])
      try await billing.close("2020-09")
      try await billing.setPrice("basic", "0.50")
      try await billing.take("ana", at: ["2020-10-05 10:00Z", "2020-10-06 10:00Z"])
      try await billing.close("2020-10")
      let folder = try TemporaryFolder()
      let due = ["report", "usage", "--due", folder.path("."), "--prices"]
      #expect(await billing.queue.control.run(due).code == .done)
      func lines(_ month: String) throws -> [String] {
        try String(contentsOfFile: folder.path("usage-\(month).csv"), encoding: .utf8)
          .split(separator: "\r\n").map(String.init)
      }
      #expect(try lines("2020-09")[0].hasSuffix(",last_reset,zone"))
      #expect(try lines("2020-10")[0].hasSuffix(",last_reset,zone,clinic,units,unit_price,amount,currency"))
      #expect(try lines("2020-10")[1].hasSuffix(",north,2,0.50,1.00,EUR"))
      #expect(
        await billing.queue.control.run(due).code == .jobsStillOpen, "months behind them are not closed")
      let groups = await billing.queue.control("report", "usage", "--by", "plan", "--prices")
      #expect(groups.code == .usage && groups.messages.contains("--by and --prices cannot be given together"))
    }
  }
}
