import Foundation
import PostgreSQL
import Support
import TestSupport

/// Reports as `analysisctl` writes them into the run's folder.
struct ReportFiles: Sendable {
  let rig: Rig

  /// Closes a month that is over.
  func close(_ period: Period) async {
    do {
      let command = try rig.programs.start(
        "analysisctl", ["month", "close", "\(period)", "--yes"],
        environment: ["ANALYSIS_DATABASE": rig.cluster.conninfo(database: Rig.database)], label: "close")
      let ended = await command.ended()
      guard ended.status == 0, !ended.wasKilled else {
        return rig.tally.complain("analysisctl month close ended with \(ended.status): \(ended.errors)")
      }
    } catch {
      rig.tally.complain("\(period) could not be closed: \(error)")
    }
  }

  /// Whether the chain of the audit is whole, with all that was recorded in it.
  func audit() async -> Finding {
    var broken: [String] = []
    do {
      let command = try rig.programs.start(
        "analysisctl", ["audit", "verify"],
        environment: ["ANALYSIS_DATABASE": rig.cluster.conninfo(database: Rig.database)], label: "audit")
      let ended = await command.ended()
      if ended.status != 0 || ended.wasKilled {
        broken.append("audit verify ended with \(ended.status): \(ended.errors)")
      }
      let left = try await rig.owner.query("SELECT count(*) FROM analysis.audit_draft").single().int64(0)
      if left > 0 { broken.append("\(left) entries are not chained") }
    } catch {
      broken.append("\(error)")
    }
    return Finding("audit", "the chain of the audit is whole, and all entries are in it", broken: broken)
  }

  /// The bytes of a month's usage report; nil, and a complaint, when the command fails.
  func statement(of period: Period, named name: String) async -> [UInt8]? {
    let file = rig.settings.folder.appending(path: name)
    do {
      let command = try rig.programs.start(
        "analysisctl", ["report", "usage", "--month", "\(period)", "--format", "csv", "--out", file.path],
        environment: ["ANALYSIS_DATABASE": rig.cluster.conninfo(database: Rig.database)], label: "statement")
      let ended = await command.ended()
      guard [0, 6].contains(ended.status), !ended.wasKilled else {
        rig.tally.complain("analysisctl report ended with \(ended.status): \(ended.errors)")
        return nil
      }
      return [UInt8](try Data(contentsOf: file))
    } catch {
      rig.tally.complain("The report of \(period) could not be made: \(error)")
      return nil
    }
  }
}
