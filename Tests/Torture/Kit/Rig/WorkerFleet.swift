import Foundation
import TestSupport

/// The workers of a run: a number that is kept running, each started again when it ends, and others for a while.
actor WorkerFleet {
  private let rig: Rig
  private let endpoint: EndpointProcess
  private var runs: [WorkerRun] = []
  private var started = 0
  private var isClosed = false
  private var keepers: [Task<Void, Never>] = []

  init(_ rig: Rig, _ endpoint: EndpointProcess) {
    self.rig = rig
    self.endpoint = endpoint
  }

  private static let usualWindow = 16

  /// How many jobs the workers that run now may hold: each as many as it calls for, and as many prefetched.
  var mayHold: Int { runs.count * 2 * Self.usualWindow }

  /// How many processes were started.
  var count: Int { started }

  /// Keeps so many running until the end.
  func keep(_ count: Int) {
    keepers = (0..<count).map { place in Task { await self.keepOne(place) } }
  }

  /// A worker on which a fault can fall; nil when there is none at the moment.
  func victim(_ choice: UInt64) -> WorkerRun? {
    let free = runs.filter(\.isFree)
    return free.isEmpty ? nil : free[Int(choice % UInt64(free.count))]
  }

  /// Stops all that run now; those that are kept are started anew.
  func stopAll() {
    for run in runs where run.isFree { run.stop() }
  }

  /// Starts a worker. Whoever starts it awaits its end by `ended`.
  func start(
    _ label: String = "worker", options: [String] = [], window: Int = usualWindow, failpoints: String? = nil,
    told: Set<WorkerRun.Told> = []
  ) throws -> WorkerRun {
    started += 1
    let name = "\(label)-\(started)"
    var environment = ["ANALYSIS_DATABASE": rig.conninfo(started, role: Rig.workerRole)]
    environment["ANALYSIS_FAILPOINTS"] = failpoints
    let program = try rig.programs.start(
      "analysis-worker", Self.options(endpoint, window) + options, environment: environment, label: name)
    let run = WorkerRun(name, program, told: told)
    runs.append(run)
    return run
  }

  /// Waits for a worker's end, complains of one that nobody asked for, and says whether a signal ended it.
  @discardableResult
  func ended(_ run: WorkerRun) async -> Bool {
    let (complaint, wasKilled) = await run.ended()
    runs.removeAll { $0 === run }
    if let complaint { rig.tally.complain(complaint) }
    return wasKilled
  }

  /// Stops everything in order and starts nothing any more.
  func close() async {
    isClosed = true
    stopAll()
    for keeper in keepers { await keeper.value }
    for run in runs { await ended(run) }
  }

  /// As a service manager does.
  private func keepOne(_ place: Int) async {
    let options = rig.settings.isSpecialised ? ["--type", place.isMultiple(of: 2) ? "throat" : "ear"] : []
    while !isClosed {
      do {
        let run = try start(options: options)
        await ended(run)
      } catch {
        rig.tally.complain("A worker could not be started: \(error)")
      }
      if !isClosed { try? await Task.sleep(for: .milliseconds(100)) }
    }
  }

  private static func options(_ endpoint: EndpointProcess, _ window: Int) -> [String] {
    [
      "--endpoint", endpoint.url, "--credentials", endpoint.credentials, "--concurrency", "\(window)",
      "--prefetch", "\(window)",
      "--lease", seconds(RunSettings.leaseDuration), "--deadline", seconds(RunSettings.callDeadline),
      "--grace", "3s",
      "--connect-timeout", "3s", "--poll", "200ms",
    ]
  }

  private static func seconds(_ time: Duration) -> String { "\(Int(time / .milliseconds(1)))ms" }
}
