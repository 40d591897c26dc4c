/// What the documents for people say of a statement, each in its own form but in the same words.
package struct BillWords {
  private let bill: Bill
  /// The SHA-256 of the data.
  private let sha256: String

  package init(_ bill: Bill, sha256: String) {
    self.bill = bill
    self.sha256 = sha256
  }

  /// A name and what stands beside it.
  package struct Fact: Equatable {
    package let name: String
    package let value: String
  }

  /// `Statement 2026-10-0007`, `Draft of a statement`.
  package var title: String {
    bill.number.map { "Statement \(Self.short($0))" }
      ?? (bill.state == .draft ? "Draft of a statement" : "Statement")
  }

  /// What the statement is, without the totals.
  package var facts: [Fact] {
    var facts = bill.brand.map { [Fact(name: "Product", value: Self.short($0.name))] } ?? []
    facts += issuer
    facts += [Fact(name: bill.holder.kind == .clinic ? "Clinic" : "User", value: Self.short(holder))]
    if !bill.holder.address.isEmpty {
      facts.append(
        Fact(name: "Address", value: bill.holder.address.map(Self.short).joined(separator: "\n")))
    }
    facts += [
      Fact(name: "Month", value: month),
      Fact(name: "Zone", value: bill.zone),
      Fact(name: "State", value: state),
    ]
    if let due { facts.append(Fact(name: "Due", value: due.description)) }
    if let currency = bill.currency { facts.append(Fact(name: "Currency", value: currency)) }
    return facts
  }

  /// Who bills, where the product's file says it.
  private var issuer: [Fact] {
    guard let issuer = bill.brand?.issuer else { return [] }
    let lines = ([issuer.name] + issuer.address).map(Self.short).joined(separator: "\n")
    return [Fact(name: "Issuer", value: lines)]
      + (issuer.taxNumber.map { [Fact(name: "Tax number", value: Self.short($0))] } ?? [])
  }

  /// The last day on which it is paid in time; nil for a draft, and where nothing has a price.
  private var due: CivilDate? {
    guard bill.state == .closed, bill.total.amount != nil,
      let days = bill.brand?.issuer?.paymentDays
    else { return nil }
    return CivilDate(number: bill.moment.date.number + days)
  }

  /// The sums in a few words each, the amount last.
  package var totals: [Fact] {
    let total = bill.total
    var facts = [
      Fact(name: "Lines", value: String(bill.lines.count)),
      Fact(name: "Adjustments", value: String(bill.adjustments.count)),
      Fact(name: "Units", value: String(total.units)),
      Fact(name: "Units beyond the limits", value: String(total.over)),
    ]
    if let amount = total.amount { facts.append(Fact(name: "Total amount", value: money(amount))) }
    return facts
  }

  /// `12.50 EUR`.
  func money(_ amount: DecimalText) -> String {
    bill.currency.map { "\(amount) \($0)" } ?? amount.description
  }

  /// What a reader gets who does not see the logo.
  package var logoText: String { "Logo of \(Self.short(holder))" }

  /// The holder's name, whole.
  private var holder: String { bill.holder.name }

  /// `October 2026`.
  package var month: String { Self.name(of: bill.month) }

  /// `October 2026`.
  package static func name(of month: Period) -> String {
    let names = [
      "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
      "November", "December",
    ]
    return "\(names[month.month - 1]) \(month.year)"
  }

  private var state: String {
    switch bill.state {
    case .closed: "closed on \(bill.moment.text)"
    case .draft: "draft of \(bill.moment.text): it may still change"
    }
  }

  /// The name of the SHA-256.
  package static let hashName = "SHA-256 of the CSV"

  /// The SHA-256 of the data, as every document ends with it.
  package var hash: Fact { Fact(name: Self.hashName, value: sha256) }

  /// How from and until are to be read.
  package var periodNote: String {
    "From and Until are times of the user's zone, which is \(bill.zone) where no other stands under the user. "
      + "Until is the first moment that is no longer counted."
      + (hasAnchors ? " A line is of the month in which the user's month ends." : "")
  }

  /// Whether a line begins before the month that it is of: the user's months end on another day than the last.
  private var hasAnchors: Bool {
    (bill.lines + bill.adjustments).contains { line in
      (line.from.date.year, line.from.date.month) < (line.month.year, line.month.month)
    }
  }

  package static let linesTitle = "Lines of the month"
  package static let adjustmentsTitle = "Adjustments of earlier months"
  package static let noLines = "Nothing was used in this month."

  /// Whether there is a column of prices.
  package var hasPrices: Bool { bill.currency != nil }

  /// `EUR` where there is a currency, behind a name: `Amount (EUR)`.
  package func inCurrency(_ name: String) -> String { bill.currency.map { "\(name) (\($0))" } ?? name }

  /// The line's zone, where it is not the statement's.
  package func zone(of line: BillLine) -> String? { line.zone == bill.zone ? nil : line.zone }

  /// The limit for people: a dash where there is no plan that could have one.
  package static func limit(of line: BillLine) -> String {
    line.limit.map { String($0) } ?? (line.plan == nil ? none : "unlimited")
  }

  /// The plan's name for people.
  package static func plan(of line: BillLine) -> String {
    line.plan.map { short($0.displayName) } ?? none
  }

  /// Where there is nothing to say.
  package static let none = "–"

  /// A foreign text as a document shows it: printable, and not so long that a row would fill a page.
  package static func short(_ text: String) -> String { printable(text, limit: 200) }
}
