public import EventLoop
public import HTTPServing
public import Support

/// The pages that a monitoring system reads of a program of ours, the same of each: `/metrics`, `/healthz`, `/readyz`.
///
/// Whoever reaches the address may read them. None names a user, and none shows a finding or a picture.
public struct MonitoringPages: Sendable {
  /// The paths.
  public static let paths = ["/metrics", "/healthz", "/readyz"]

  private let metrics: @Sendable () async -> [MetricFamily]
  private let loops: [EventLoop]
  private let readiness: @Sendable () async -> ServiceReadiness

  /// Pages of what a program says of itself.
  ///
  /// - Parameters:
  ///   - metrics: Its metrics, as they are now.
  ///   - loops: Those on which its work is done: where one hangs the process does not work.
  ///   - readiness: Whether it can do its work.
  public init(
    metrics: @escaping @Sendable () async -> [MetricFamily], loops: [EventLoop],
    readiness: @escaping @Sendable () async -> ServiceReadiness
  ) {
    self.metrics = metrics
    self.loops = loops
    self.readiness = readiness
  }

  /// What serves them.
  public var routes: [HTTPRoute] {
    [
      HTTPRoute("/metrics") {
        HTTPAnswer(
          contentType: Exposition.contentType, body: Array(Exposition.text(await metrics()).utf8))
      },
      HTTPRoute("/healthz") {
        // Where a loop hangs no answer is made, and the server says so in time.
        do {
          for loop in loops { try await loop.sleep(for: .zero) }
        } catch {
          return .text(503, "The process is stopping.")
        }
        return .text(200, "The process works.")
      },
      HTTPRoute("/readyz") {
        let readiness = await readiness()
        return .json(readiness.isReady ? 200 : 503, readiness.facts)
      },
    ]
  }
}
