/// One of a month's totals.
struct SummaryResponse: Equatable, Sendable {
  let measure: SummaryMeasure
  let value: Int64
}
