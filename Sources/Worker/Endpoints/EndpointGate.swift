internal import ModelClient

/// One endpoint as this process sees it: its client, how many calls it may have in flight, and whether it
/// is called at all.
struct EndpointGate {
  let client: ModelClient
  var window: AdaptiveWindow
  var breaker = Breaker()
  /// Calls in flight now.
  var inFlight = 0
  /// Jobs whose image is on its way.
  var reading = 0
  /// Bytes of their images, and of those that are here or being sent.
  var imageBytes = 0
  /// Jobs whose image is here and whose call may begin.
  var ready: [ReadyJob] = []
  /// Why it is paused, for the log and the drain's last words.
  var pauseReason: String?

  init(client: ModelClient, greatestWindow: Int) {
    self.client = client
    window = AdaptiveWindow(greatest: greatestWindow)
  }

  var name: String { client.endpoint.name }

  /// Takes the next job if its call may begin now.
  mutating func take(at now: ContinuousClock.Instant) -> ReadyJob? {
    guard !ready.isEmpty, inFlight < window.size, let admission = breaker.admits(at: now) else { return nil }
    inFlight += 1
    var job = ready.removeFirst()
    job.admission = admission
    return job
  }

  /// Whether jobs for it are worth claiming.
  func wantsJobs(at now: ContinuousClock.Instant) -> Bool {
    switch breaker.state {
    case .closed: true
    case .probing: false
    case .open(let until): now >= until
    }
  }
}
