import BenchmarkKit
import Control
import Foundation
import PostgreSQL
import Queue

/// A database as it is while a dashboard is looked at: a worker lives, which keeps the counts and the workers' page true,
/// and everything is paused, so that nothing but what is looked at changes.
final class StagedQueue: Sendable {
  /// The connection string of the login that looks.
  let conninfo: String
  let dashboard: DashboardProcess
  /// That of a login which sees the users of one clinic; nil where there is no clinic.
  private let ofClinic: DashboardProcess?
  private let worker: MeasuredProcess

  /// The login that looks at all stages: what it may see is all that a page can show.
  static let login = "onlooker"
  /// The same, restricted to the users of one clinic.
  private static let clinicLogin = "ward"
  private static let roles = ["operator", "auditor", "clinician"]

  /// Makes the logins, of which one has its statements counted. They are gone with the cluster.
  static func makeLogin(_ bench: Bench) async throws {
    let owner = bench.cluster.owner
    _ = try await owner.query("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    let groups = roles.map { "analysis_\($0)" }.joined(separator: ", ")
    for name in [login, clinicLogin] {
      _ = try await owner.query("CREATE ROLE \(name) LOGIN IN ROLE \(groups)")
    }
    _ = try await owner.query("ALTER ROLE \(login) SET pg_stat_statements.track = 'top'")
  }

  /// Starts the worker and the dashboard, and waits until the counts are those that are there.
  ///
  /// - Parameters:
  ///   - waiting: How many jobs wait.
  ///   - clinic: The clinic whose users the second login sees; nil where there is none.
  init(
    _ bench: Bench, _ database: BenchmarkDatabase, endpoint: EndpointProcess, waiting: Int, clinic: String?
  ) async throws {
    _ = try await PauseDirectory(database.pool).pause(.everything, reason: nil, until: nil)
    func conninfo(of login: String) -> String {
      database.conninfo.replacing("user=postgres", with: "user=\(login)")
    }
    self.conninfo = conninfo(of: Self.login)
    if let clinic {
      _ = try await database.pool.query(
        "SELECT analysis.grant_clinics($1::text::name, ARRAY[$2::text])",
        [.text(Self.clinicLogin), .text(clinic)])
    }
    worker = try MeasuredProcess(
      bench.settings.program("analysis-worker"),
      ["--database", database.conninfo, "--endpoint", endpoint.url])
    do {
      try await Self.awaitCounts(database, worker, waiting)
      dashboard = try await DashboardProcess(bench.settings, self.conninfo)
      do {
        ofClinic =
          clinic == nil ? nil : try await DashboardProcess(bench.settings, conninfo(of: Self.clinicLogin))
      } catch {
        await dashboard.stop()
        throw error
      }
    } catch {
      worker.send(SIGKILL)
      throw error
    }
  }

  private static func awaitCounts(
    _ database: BenchmarkDatabase, _ worker: MeasuredProcess, _ waiting: Int
  ) async throws {
    let patience = ContinuousClock.now + .seconds(120)
    while true {
      let status = try await QueueStatus.read(database.pool)
      if status.countedAgo != nil, status.waiting.value == waiting { return }
      guard !worker.hasEnded, ContinuousClock.now < patience else {
        throw BenchmarkError(
          "\(status.waiting) jobs are counted, \(waiting) wait; the worker said: \(worker.errorsSoFar.suffix(1000))"
        )
      }
      // A worker counts every two seconds, and sends no signal when it has.
      try await Task.sleep(for: .milliseconds(200))
    }
  }

  /// The dashboard that shows a page.
  func dashboard(of page: DashboardPages.Page) -> DashboardProcess {
    page.isOfClinic ? ofClinic ?? dashboard : dashboard
  }

  /// Ends the programs.
  func end() async {
    await ofClinic?.stop()
    await dashboard.stop()
    worker.send(SIGTERM)
    _ = await worker.ended()
  }
}
