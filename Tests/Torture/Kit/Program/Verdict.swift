/// What a run came to.
struct Verdict: Sendable {
  var findings: [Finding] = []
  var submits = SubmitChecks.Counts()
  var calls = CallChecks.Counts()
  /// Faults that were caused, by kind.
  var faults: [String: Int] = [:]
  /// Faults that found nobody to fall on, by kind.
  var missed: [String: Int] = [:]
  var workersStarted = 0
  var leasesLost = 0
  var drained: Duration = .zero
  var calm = CalmChecks.Facts()
  var stress = StressChecks.Facts()

  /// What does not hold.
  var broken: [Finding] { findings.filter { !$0.holds } }

  var faultCount: Int { faults.values.reduce(0, +) }

  /// The whole verdict in words, a table at its end.
  var text: String {
    var text = "Faults caused: \(faultCount) of \(faults.count) kinds\n"
    let names = faults.keys.sorted()
    text += table(names.map { [$0, "\(faults[$0] ?? 0)"] }, indent: 2)
    if !missed.isEmpty {
      let list = missed.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
      text += "Not caused, since there was nobody to fall on: \(list)\n"
    }
    text += """

      Jobs: \(submits.jobs) there, of \(submits.submits) submits: \(submits.acknowledged) jobs acknowledged, \
      \(submits.refused) submits refused, \(submits.unknown) without an answer, of which \(submits.recovered) are there
      Lost \(submits.lost), unexpected \(submits.unexpected), duplicated \(submits.duplicated), \
      recovered \(submits.recovered)
      Calls: \(calls.calls), answered with an analysis \(calls.analyses), results \(calls.results), late or cut off \
      \(calls.unstored), of claims that the server lost \(calls.lost)
      Workers started: \(workersStarted); leases they saw lost: \(leasesLost)
      Drained in \(Int(drained / .seconds(1))) s
      After \(calm.cancelled) jobs were cancelled workers read \(calm.rowsRead) rows of the queue to do a few others
      Stress: \(stress.calls.values.reduce(0, +)) calls of \(stress.functions.count) functions, \(stress.answered) answered


      """
    text += table(
      findings.map { [$0.rule, $0.promise, $0.holds ? "holds" : "BROKEN (\($0.broken.count))"] }, indent: 0)
    for finding in broken {
      text += "\n\(finding.rule) is broken: \(finding.promise), but\n"
      text += finding.broken.prefix(10).map { "  \($0)\n" }.joined()
      if finding.broken.count > 10 { text += "  and \(finding.broken.count - 10) more\n" }
    }
    return text
  }

  /// Columns as wide as their widest cell.
  private func table(_ rows: [[String]], indent: Int) -> String {
    let widths = (0..<(rows.first?.count ?? 0)).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
      var line = String(repeating: " ", count: indent) + cells.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      return line + "\n"
    }.joined()
  }
}
