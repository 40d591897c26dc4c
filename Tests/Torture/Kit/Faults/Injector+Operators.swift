import Control
import Foundation
import PostgreSQL
import Queue
import Support
import TestSupport

/// What operators do while all this goes on.
extension Injector {
  func carryOut(_ action: OperatorAction, _ event: FaultEvent) async throws {
    switch action {
    case .cancelsJobs: try await cancelJobs(event.choice)
    case .retriesDead: try await retryDead(atMost: 60)
    case .schedulesMany: try await scheduleMass(event)
    case .cancelsMany: try await cancelMass()
    case .retriesMany: try await retryMass()
    case .migrates:
      async let one = run(["migrate"], "migrate", allowing: [0])
      async let other = run(["migrate"], "migrate", allowing: [0])
      let ran = await [one, other]
      guard ran.contains(true) else { throw TestSupportError("the server was away") }
    case .changesPlans: try await changePlans(event.choice)
    case .reports: try await report()
    }
  }

  /// Cancels some of those that were acknowledged lately: a few still wait, some run, many have ended. Every second time
  /// half of it is undone at once.
  private func cancelJobs(_ choice: UInt64) async throws {
    let latest = history.latestJobs(200)
    guard !latest.isEmpty else { throw Missed("nothing was submitted yet") }
    let start = Int(choice % UInt64(latest.count))
    let jobs = Array(latest[start...].prefix(12))
    _ = try await JobDirectory(rig.owner).change(jobs, .cancel)
    // Some of it was a mistake.
    if choice.isMultiple(of: 2) {
      _ = try await JobDirectory(rig.owner).change(Array(jobs.prefix(6)), .uncancel)
    }
  }

  private func changePlans(_ choice: UInt64) async throws {
    try await PlanDirectory(rig.owner).setLimit(plan: "free", limit: 3 + Int(choice % 40))
    // Of some only: a run in which all are at their limit would submit nothing any more.
    let some = rig.users.suffix(16)
    let user = some[some.startIndex + Int((choice >> 8) % 16)].reference
    try await UserDirectory(rig.owner).setPlan(user, plan: choice.isMultiple(of: 3) ? "free" : "premium")
  }

  /// Two reporters of the closed month and one that would close it again, one of the present month, and a recount, all
  /// at once.
  private func report() async throws {
    let folder = rig.settings.folder
    let past = ["report", "usage", "--month", "\(month.period)", "--format", "csv", "--out"]
    let files = (1...2).map { _ in folder.appending(path: "statement-\(UUID().uuidString).csv") }
    defer { for file in files { remove(file) } }
    async let first = run(past + [files[0].path], "report", allowing: [0, 5, 6])
    async let second = run(past + [files[1].path], "report", allowing: [0, 5, 6])
    async let again = run(["month", "close", "\(month.period)", "--yes"], "close", allowing: [5])
    async let present = run(["report", "usage", "--month", "current"], "report", allowing: [0, 6])
    async let recount = run(["reconcile"], "reconcile", allowing: [0])
    let ran = await [first, second, again, present, recount]
    guard ran.contains(true) else { throw TestSupportError("the server was away") }
  }

  private func remove(_ file: URL) {
    for path in [file.path, file.deletingPathExtension().path + ".json", file.path + ".json"] {
      try? FileManager.default.removeItem(atPath: path)
    }
  }

  /// Runs `analysisctl` as the owner; true when it did what was asked. That the database is away it may say; any
  /// other failure is a complaint.
  private func run(_ arguments: [String], _ label: String, allowing codes: Set<Int32>) async -> Bool {
    do {
      let command = try rig.programs.start(
        "analysisctl", arguments,
        environment: ["ANALYSIS_DATABASE": rig.cluster.conninfo(database: Rig.database)],
        label: label)
      let ended = await command.ended()
      if codes.contains(ended.status), !ended.wasKilled { return true }
      if !ended.wasKilled, ended.status == 69 || ended.status == 75 { return false }
      let output = String(decoding: ended.output.prefix(500), as: UTF8.self)
      rig.tally.complain("analysisctl \(label) ended with \(ended.status): \(ended.errors) \(output)")
    } catch {
      rig.tally.complain("analysisctl \(label) could not be run: \(error)")
    }
    return false
  }
}
