import CommandLineTool
import Support

/// `analysisctl plans set-price`.
enum PlansSetPriceCommand {
  static let plan = Argument("plan", .string, help: "The plan's name.")
  static let price = Argument("price", .decimal, help: "What one analysis costs, for instance 0.50.")
  static let currency = Argument(
    "currency", .string, help: "Its three letters in ISO 4217, for instance EUR.")
  static let from = Option<String?>(
    "from", .day,
    help: "It holds from that day's midnight on by each user's clocks. A plan's first price needs none: "
      + "it holds from the beginning.")
  static let replace = Flag("replace", help: "Replace a price that begins on the same day.")

  static let command = ControlCommand(
    "set-price", abstract: "Set what one analysis costs under a plan.",
    discussion: """
      A month's statement multiplies units by the price that held when each was taken; it has no base fee, no share \
      of a month and no tax. A closed month keeps the prices that it was closed with, so a price cannot begin in one.
      """,
    examples: [
      Example("analysisctl plans set-price free 0 EUR", "The first price, from the beginning."),
      Example("analysisctl plans set-price premium 0.45 EUR --from 2026-12-01", "From December on."),
      Example(
        "analysisctl plans set-price premium 0.40 EUR --from 2026-12-01 --replace", "Correct it before then."),
    ],
    inputs: [from, replace, ReasonOption.reason, plan, price, currency],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let (plan, price, currency) = (try context[plan], try context[price], try context[currency])
    let (from, replaces) = (try context[from], try context[replace])
    return try await context.withSession { session in
      let directory = PlanDirectory(session.database)
      try await directory.setPrice(
        plan: plan, price, currency, from: from, replaces: replaces, by: session.actor)
      try session.view.show(PlansResponse(plans: try await directory.list()))
      return .done
    }
  }
}

extension ValueFormat where Value == DecimalText {
  /// A decimal number that is not below 0, for instance `0.50`.
  fileprivate static var decimal: Self {
    ValueFormat(
      name: "DECIMAL",
      parse: { (given: String) throws(ValueError) -> DecimalText in
        guard let number = DecimalText(given), !given.hasPrefix("-") else {
          throw ValueError("is not a price; write digits with a point, for example 0.50")
        }
        return number
      },
      text: \.description)
  }
}
