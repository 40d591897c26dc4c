import Foundation
import Images
import PostgreSQL
import Support
import TestSupport

/// Gathers what the run left and has it checked.
struct Checker {
  let rig: Rig
  let endpoint: EndpointProcess
  let history: History
  let month: PastMonth
  let reports: ReportFiles
  let firstStatement: [UInt8]?
  let calm: CalmChecks.Facts

  func verdict(_ drain: Finding) async throws -> Verdict {
    let records = history.records
    let facts = try await FactReader(
      database: rig.owner, records: records, erased: rig.erased.persons
    ).read()
    rig.tally.note("has read \(facts.jobs.count) jobs and \(facts.attempts.count) attempts")
    let answered = try EndpointCall.lines([UInt8](Data(contentsOf: endpoint.log)))
    let submits = SubmitChecks(records: records, jobs: facts.jobs)
    let calls = CallChecks(facts: facts, calls: answered + month.calls, crashes: rig.tally.crashes)
    var verdict = Verdict()
    verdict.calm = calm
    verdict.submits = submits.counts
    verdict.calls = calls.counts
    verdict.findings = submits.findings() + calls.findings() + RuleChecks(facts: facts).findings()
    verdict.findings += ErasureChecks(traces: facts.traces).findings()
    let stressed = rig.settings.kinds.compactMap { kind in
      if case .stress(.role(let role)) = kind { StressPart.role(role).login } else { nil }
    }
    verdict.stress = rig.stress.seen
    verdict.findings += StressChecks(facts: verdict.stress, logins: stressed).findings()
    verdict.findings += CalmChecks(facts: calm, refusedWaiting: rig.tally.refusedWaiting).findings()
    verdict.findings += [
      drain, try await totals(), await reports.audit(),
      ReportChecks.statement(
        first: firstStatement, last: await reports.statement(of: month.period, named: "statement-last.csv")),
    ]
    rig.tally.note("has checked jobs, calls and reports")
    let logs = try logs()
    verdict.leasesLost = logs.reduce(0) { $0 + Self.leasesLost($1.bytes) }
    verdict.findings.append(secrets(logs))
    verdict.findings.append(
      Finding(
        "programs", "programs end only as told, and commands do what was asked", broken: rig.tally.complaints)
    )
    verdict.faults = rig.tally.caused
    for fault in answered.compactMap(\.fault) { verdict.faults[fault, default: 0] += 1 }
    verdict.missed = rig.tally.missed
    rig.tally.note("has searched \(logs.count) logs")
    return verdict
  }

  // MARK: Parts

  private func totals() async throws -> Finding {
    let label = try await rig.owner.query("SELECT analysis.period_of(now(), 'UTC')").single().int16(0)
    guard let period = Period(label: label),
      let report = await reports.statement(of: period, named: "usage-last.csv")
    else { return Finding("reports", "the usage report adds up to the rows", broken: ["there is no report"]) }
    return ReportChecks.totals(
      try ReportChecks.totals(ofCSV: String(decoding: report, as: UTF8.self)),
      try await ReportChecks.counted(label, in: rig.owner))
  }

  private func secrets(_ logs: [(name: String, bytes: [UInt8])]) -> Finding {
    var secrets = TestUser.secrets + [SecretSearch.token]
    secrets += [
      .init("the service account's password", endpoint.password),
      .init("the service account's address", EndpointProcess.account),
    ]
    for picture in rig.pictures {
      for bytes in [picture.original, picture.clean.bytes] {
        secrets += SecretSearch.image(bytes, at: bytes.count / 2)
      }
    }
    let search = SecretSearch(secrets: secrets)
    return Finding(
      "I10 logs", "no token, password, name, address or image byte in a log",
      broken: logs.flatMap { search.found(in: $0.bytes, of: $0.name) })
  }

  /// Everything that any program has written, the server included.
  private func logs() throws -> [(name: String, bytes: [UInt8])] {
    var logs = [("the server's log", Array(rig.cluster.log.utf8))]
    let folder = rig.settings.folder.appending(path: "programs")
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
      for file in ["output", "errors"] {
        let path = folder.appending(path: "\(name)/\(file)")
        logs.append(("\(name)/\(file)", [UInt8](try Data(contentsOf: path))))
      }
    }
    logs.append(("calls.jsonl", [UInt8](try Data(contentsOf: endpoint.log))))
    return logs
  }

  /// How many times a worker has written that it lost leases.
  private static func leasesLost(_ log: [UInt8]) -> Int {
    String(decoding: log, as: UTF8.self).components(separatedBy: "Leases were lost").count - 1
  }
}
