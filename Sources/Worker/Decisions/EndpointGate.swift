internal import Endpoint
internal import Queue
internal import Support

/// One endpoint as this process sees it: its client, how many calls it may have in flight, and whether it
/// is called at all.
struct EndpointGate {
  let client: ModelClient
  /// How long its calls take.
  let callDuration: Histogram
  var window: AdaptiveWindow
  var breaker = Breaker()
  /// Calls in flight now.
  var inFlight = 0
  /// Jobs whose image is on its way.
  var reading = 0
  /// Bytes of their images, and of those that are here or being sent.
  var imageBytes = 0
  /// Jobs whose image is here and whose call may begin.
  var ready = FairLine<ReadyJob>()
  /// Why it is paused, for the log and the drain's last message.
  var pauseReason: String?

  init(client: ModelClient, greatestWindow: Int, callDuration: Histogram) {
    self.client = client
    self.callDuration = callDuration
    window = AdaptiveWindow(greatest: greatestWindow)
  }

  var name: String { client.endpoint.name }

  /// Takes the next job if its call may begin now.
  mutating func take(at now: ContinuousClock.Instant) -> ReadyJob? {
    guard inFlight < window.size, let next = ready.next(), let admission = breaker.admits(at: now) else {
      return nil
    }
    inFlight += 1
    ready.take(next)
    var job = next.element
    job.admission = admission
    return job
  }

  /// Whether jobs for it are worth claiming.
  func wantsJobs(at now: ContinuousClock.Instant) -> Bool { breaker.mayAdmit(at: now) }
}

/// The object store of images as this process sees it: whether it is asked at all. It is left alone as an endpoint is,
/// while jobs wait and none is failed.
struct ImageStoreGate {
  private(set) var breaker = Breaker()
  private var times = FetchTimes()
  /// Why it is left alone.
  private(set) var pauseReason: String?
  /// How often it is asked again where it refuses what is asked of it.
  private let probeEvery: Duration

  init(probeEvery: Duration) { self.probeEvery = probeEvery }

  /// How an image may be asked for now, and after which time without an answer once more (nil: not at all); nil when it
  /// may not.
  mutating func admits(
    at now: ContinuousClock.Instant
  ) -> (admission: Breaker.Admission, patience: Duration?)? {
    guard let admission = breaker.admits(at: now) else { return nil }
    // A probe is to be the only one.
    guard admission == .ordinary else { return (admission, nil) }
    return (admission, times.begin(at: now))
  }

  /// Whether a fetch that is late may be asked for once more.
  mutating func hedges() -> Bool { breaker.state == .closed && times.takeHedge() }

  /// It has answered after a time; says whether that is news.
  mutating func answered(after time: Duration, at now: ContinuousClock.Instant) -> Bool {
    times.observe(time, at: now)
    pauseReason = nil
    return breaker.succeeded()
  }

  /// It has not; says whether it is left alone from now on.
  mutating func failed(
    _ admission: Breaker.Admission, _ error: ImageStoreError, at now: ContinuousClock.Instant
  ) -> Bool {
    let isNews =
      error.isAway
      ? breaker.failed(admission, at: now) : breaker.pause(admission, for: probeEvery, at: now)
    if breaker.state != .closed { pauseReason = error.description }
    return isNews
  }

  /// An endpoint's report where the store is left alone: nothing is sent to the endpoint either, and it is said why.
  func told(in report: WorkerReport.Endpoint, at now: ContinuousClock.Instant) -> WorkerReport.Endpoint {
    guard report.state == .open, breaker.state != .closed else { return report }
    var report = report
    report.state = .probing
    report.reason = pauseReason
    if case .open(let until) = breaker.state {
      report.state = .shut
      report.nextTrySeconds = max(0, (until - now).inSeconds)
    }
    return report
  }
}

/// How long an object store took lately, and how many fetches may be asked for a second time.
///
/// One that takes longer than nearly all of this hour's is asked for once more, and the first answer counts: a store of
/// many disks has some that stall. Where all become slow, few are: a slow store is not to be asked twice as often.
struct FetchTimes {
  /// Of so many fetches, the last ones, it is known how long they took.
  static let window = 1024
  /// With fewer of them nothing is asked for twice.
  static let least = 100
  /// What takes no longer than this is never late.
  static let floor: Duration = .milliseconds(50)
  /// One fetch in so many may be asked for twice.
  static let perHedge = 50
  /// So many may be at once, after a time without any.
  static let atOnce = 8
  private static let age: Duration = .seconds(3600)
  /// After so many it is worked out anew which are late.
  private static let step = 32

  private var known: [(at: ContinuousClock.Instant, time: Duration)] = []
  private var next = 0
  private var sinceStep = 0
  private var patience: Duration?
  /// Fetches that have been begun and not been used up by second ones.
  private var saved = 0

  /// A fetch begins; answers after which time it is late: the 99th percentile of this hour's.
  mutating func begin(at now: ContinuousClock.Instant) -> Duration? {
    saved = min(saved + 1, Self.perHedge * Self.atOnce)
    guard !known.isEmpty else { return nil }
    let newest = known[(next + known.count - 1) % known.count].at
    return now - newest < Self.age ? patience : nil
  }

  /// One is late; answers whether it may be asked for once more.
  mutating func takeHedge() -> Bool {
    guard saved >= Self.perHedge else { return false }
    saved -= Self.perHedge
    return true
  }

  /// One has come after a time.
  mutating func observe(_ time: Duration, at now: ContinuousClock.Instant) {
    if known.count < Self.window {
      known.append((now, time))
    } else {
      known[next] = (now, time)
    }
    next = (next + 1) % Self.window
    sinceStep += 1
    guard sinceStep >= Self.step || known.count == Self.least else { return }
    sinceStep = 0
    let times = known.filter { now - $0.at < Self.age }.map(\.time).sorted()
    patience = times.count >= Self.least ? max(Self.floor, times[times.count * 99 / 100]) : nil
  }
}

/// What a failed call says of its endpoint, as apart from what it says of the job.
enum EndpointVerdict: Equatable {
  /// The endpoint works; it was this image or request.
  case healthy
  /// It asks for fewer calls.
  case overloaded
  /// It does not work; after some of these in a row it is left alone for a while.
  case failing(isSlow: Bool)
  /// No call can succeed until somebody or something changes.
  case pauses(Pause)

  struct Pause: Equatable {
    let reason: String
    /// After this time one call is let through to see whether the cause has gone.
    let probeEvery: Duration
  }

  /// How often an endpoint whose limit is reached is asked whether that is still so.
  private static let limitProbe: Duration = .seconds(900)

  private static func pause(_ reason: String, _ probeEvery: Duration) -> Self {
    .pauses(Pause(reason: reason, probeEvery: probeEvery))
  }

  init(_ failure: CallFailure) {
    if failure.isRefusedHere {
      self = .pause(
        "this worker's own settings forbid calls to it; look at the endpoint's address", .seconds(60))
      return
    }
    switch failure.failureClass {
    case .credentials:
      self = .pause("its credentials were not accepted; look at the credentials file", .seconds(30))
    case .permission:
      // Also a 404 or 405: then the address is wrong.
      self = .pause("it refuses the service account or the address; see the message", .seconds(60))
    case .serviceLimit:
      // The limit may be raised before the month's end, so it is probed now and then, and sooner where the
      // endpoint names a sooner time.
      let asked = failure.retryAfter.map { max(.seconds(1), $0) } ?? Self.limitProbe
      self = .pause("the service account's monthly limit is reached", min(asked, Self.limitProbe))
    case .overload:
      self = .overloaded
    case .notSent, .server:
      self = .failing(isSlow: false)
    case .outcomeUnknown:
      self = .failing(isSlow: true)
    case .invalidAnswer, .permanent, .redirect, .image, .expired, .workerLost, .store:
      self = .healthy
    }
  }
}

extension CallFailure {
  /// Why an endpoint that fails so is left alone: in our words, none of the endpoint's, which may be of a picture.
  var endpointReason: String {
    if let status { return "it answers with status \(status)" }
    guard failureClass == .notSent || failureClass == .outcomeUnknown else {
      return "it fails (\(failureClass.rawValue))"
    }
    return message.hasSuffix(".") ? String(message.dropLast()) : message
  }

  /// What is kept with the attempt: the message and what may be said of an unusable answer.
  var storedMessage: String { evidence.map { "\(message) \($0)" } ?? message }
}

/// How something that a process has so much of (calls in flight, jobs held, bytes of images) is shared by the
/// endpoints that it calls.
///
/// Each endpoint has half of its equal share to itself, however much the others could use: one that hangs holds
/// what it has for as long as a call may take, and must not hold up the others meanwhile. The other half goes to
/// whoever asks first. A single endpoint has everything.
struct EndpointShares: Equatable {
  /// How much there is.
  let total: Int
  /// How many endpoints share it.
  let endpoints: Int

  /// What each endpoint has to itself; nothing when there is less than one for each.
  var floor: Int {
    guard endpoints > 1 else { return total }
    return max(min(1, total / endpoints), total / (2 * endpoints))
  }

  /// How much more an endpoint may take.
  ///
  /// - Parameters:
  ///   - index: Which endpoint asks.
  ///   - used: What each of them has; asked for each, so that nothing has to be gathered for a question that every
  ///     call asks several times.
  func allowance(of index: Int, used: (Int) -> Int) -> Int {
    var kept = used(index)
    for other in 0..<endpoints where other != index { kept += max(used(other), floor) }
    return max(0, total - kept)
  }
}
