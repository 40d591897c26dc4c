import BenchmarkKit
import TestSupport

/// Whole jobs by TLS, as in production, beside plain HTTP.
struct SecuredJobRow: BenchmarkRow {
  let name = "https"
  let sentence =
    "whole jobs a second of one worker, 120 KB a picture, 64 in flight, by plain HTTP and by TLS with a certificate"
  let headline = Headline.rate(of: "jobs")
  private let made = Held<(stage: JobStage, endpoints: [EndpointProcess])>()

  private static let inFlight = 64

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let stage = try await JobStage(
      bench, named: name, jobs: bench.givenSize(20_000, quick: 400),
      pictures: bench.size(QueueFixture.usualPictures, quick: 20))
    made.put((stage, []))
    let authority = try await Authority()
    var contenders = Self.contenders("http", stage, stage.endpoint)
    var endpoints: [EndpointProcess] = []
    let speeches: [(String, EndpointProcess.Speech)] = [
      ("https", .secured(authority)), ("https by nghttpx, HTTP/1.1", .proxied(authority, .http1)),
      ("https by nghttpx, HTTP/2", .proxied(authority, .http2)),
    ]
    for (name, speech) in speeches {
      let endpoint = try await EndpointProcess(bench.settings, speech: speech)
      endpoints.append(endpoint)
      made.put((stage, endpoints))
      // `wrk` does not speak HTTP/2, and the proxy is no limit of ours.
      let both = Self.contenders(name, stage, endpoint)
      if case .proxied = speech { contenders.append(both[0]) } else { contenders += both }
      guard case .secured = speech else { continue }
      // Both Python's TLS and Go's take the authority from there.
      contenders += bench.peers(
        "whole", name, fill: "fill-whole",
        options: [
          "--jobs", "\(stage.jobs)", "--in-flight", "\(Self.inFlight)", "--endpoint", endpoint.url,
        ], environment: ["SSL_CERT_FILE": authority.file])
    }
    return contenders
  }

  func clean(_ bench: Bench) async {
    guard let (stage, endpoints) = made.take() else { return }
    for endpoint in endpoints { await endpoint.stop() }
    await stage.end()
  }

  /// The worker, and the endpoint that it calls without it.
  private static func contenders(
    _ name: String, _ stage: JobStage, _ endpoint: EndpointProcess
  ) -> [Contender] {
    [
      Contender(name) { try await stage.run($0, inFlight: inFlight, at: endpoint) },
      Contender("the endpoint alone, \(name)", .limit) {
        try await stage.uploads($0, inFlight: inFlight, at: endpoint)
      },
    ]
  }
}
