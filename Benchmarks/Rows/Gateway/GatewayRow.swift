import BenchmarkKit

/// What the queue adds to a call of the endpoint itself, for an app that waits.
struct GatewayRow: BenchmarkRow {
  let name = "gateway"
  let sentence =
    "from an app's photo of 120 KB to its analysis, through gateway, queue and worker, and by the endpoint alone"
  let headline = Headline.figure("p50_ms", unit: "ms")
  private let stage = Held<GatewayStage>()

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let stage = try await GatewayStage(bench, photos: bench.size(200, quick: 10))
    self.stage.put(stage)
    return [1, 64, GatewayStage.mostApps].flatMap { apps in
      [
        Contender("\(apps) \(apps == 1 ? "app" : "apps") through the gateway") {
          try await stage.throughGateway($0, apps: apps)
        },
        Contender("\(apps) \(apps == 1 ? "app" : "apps") at the endpoint itself", .limit) {
          try await stage.direct($0, apps: apps)
        },
      ]
    }
  }

  func clean(_ bench: Bench) async { await stage.take()?.end() }
}
