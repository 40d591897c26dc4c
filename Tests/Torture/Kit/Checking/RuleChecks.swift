/// What the database says of itself: `sql/functions/70_reports/queue_check.sql`, and the recount of what users have used.
struct RuleChecks {
  let facts: DatabaseFacts

  /// The rules of `analysis.broken_invariants()` by what they begin with.
  private static let promises: [(rule: String, promise: String)] = [
    ("I1 one place", "a job is in one place and one only"),
    ("I2 no job", "no row without its job"),
    ("I3 one job", "a job has one row"),
    ("I3 one result", "a job has one result over all months"),
    ("I4 usage", "what is counted was analysed or is open"),
    ("I5 limit", "nobody is over the limit"),
    ("I6 one lease", "a job is in one lease at most"),
    ("I7 attempts", "nobody tried more often than allowed"),
    ("I7 dead", "a dead job says why"),
    ("job", "a job has no value that no submit takes"),
    ("usage", "no counter is below zero"),
    ("admission", "submits go by what the settings say"),
    ("terms", "submits go by terms that hold"),
    ("key", "a key answers a job that exists"),
    ("label", "a label is of its job's user, and its batch is there"),
    ("batch", "a batch says nothing of persons who were erased"),
  ]

  func findings() -> [Finding] {
    let byRule = Dictionary(grouping: facts.brokenRules, by: \.rule)
    var findings = Self.promises.map { rule, promise in
      Finding("\(rule) (database)", promise, broken: byRule[rule]?.map(\.detail) ?? [])
    }
    // A rule that was added to the file and not to the list above is told all the same.
    for (rule, rows) in byRule.sorted(by: { $0.key < $1.key })
    where !Self.promises.contains(where: { $0.rule == rule }) {
      findings.append(
        Finding(
          "\(rule) (database)", "see sql/functions/70_reports/queue_check.sql", broken: rows.map(\.detail)))
    }
    findings.append(
      Finding("reconcile", "counters agree with the jobs", broken: facts.differences))
    return findings
  }
}
