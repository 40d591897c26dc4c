internal import Queue
public import Support
internal import Synchronization

/// What a worker tells a monitoring system: its metrics, and whether it can work.
///
/// It can be asked from the moment that the worker is made for as long as its loop runs.
public final class WorkerMonitor: Sendable {
  private let counted: WorkerMetrics
  /// Nil until the database has answered.
  private let pipeline = Mutex<Pipeline?>(nil)

  init(_ metrics: WorkerMetrics) { counted = metrics }

  /// The run has begun.
  func watch(_ pipeline: Pipeline) { self.pipeline.withLock { $0 = pipeline } }

  private var running: Pipeline? { pipeline.withLock { $0 } }

  /// The metrics, as they are now.
  public func metrics() async -> [MetricFamily] {
    counted.families(await running?.with { $0.calls.endpointReports() } ?? [])
  }

  /// Whether it can work: the database answers, an endpoint is called, and it is not to stop.
  public func readiness() async -> ServiceReadiness {
    guard let pipeline = running else {
      return ServiceReadiness(isReady: false, [.init(name: "stage", value: "starting")])
    }
    let (stage, endpoints) = await pipeline.with { ($0.stage, $0.calls.endpointReports()) }
    let isAway = pipeline.context.outage.isOn
    return ServiceReadiness(
      isReady: stage == .running && !isAway && endpoints.contains { !$0.isLeftAlone },
      [
        .init(name: "stage", value: .string(stage == .running ? "running" : "draining")),
        .init(name: "database", value: .string(isAway ? "away" : "answers")),
        .init(
          name: "endpoints",
          value: .array(
            endpoints.map { endpoint in
              ["endpoint": .string(endpoint.name), "state": .string(endpoint.state.rawValue)]
            })),
      ])
  }
}
