import EventLoop
import HTTPTransfer
import PostgreSQL
import TestSupport
import Testing

@testable import Endpoint
@testable import Queue
@testable import Support
@testable import Worker

@Suite("Verdicts on failed answers in seeded histories")
struct VerdictHistories {
  private static let codes = [
    "INVALID_CREDENTIALS", "ANALYSIS_LIMIT_EXCEEDED", "INVALID_IMAGE_FORMAT", "LIMIT_FILE_SIZE",
    "SERVER_ERROR",
    "CRITICAL_ERROR", "SOMETHING_NEW",
  ]

  /// Any answer that is a failure, by its status or its body.
  private static func failure(using random: inout SeededGenerator) -> CallFailure? {
    let status = Int.random(in: 200...599, using: &random)
    let body =
      switch Int.random(in: 0..<4, using: &random) {
      case 0: ""
      case 1: "<html>\(status)</html>"
      case 2: #"{"error":true,"message":"m"}"#
      default: #"{"error":true,"message":"m","code":"\#(codes.randomElement(using: &random) ?? "")"}"#
      }
    return Classifier(now: 1_900_000_000).failure(
      status: status, headers: ["Retry-After": "7"], body: Array(body.utf8))
  }

  @Test(
    "what pauses an endpoint costs no job an attempt, and what ends a job says nothing against the endpoint")
  func consistent() throws {
    let policy = RetryPolicy()
    try simulate(4000) { random in
      guard let failure = Self.failure(using: &random) else { return }
      let decision = policy.decide(
        failure.failureClass, attempt: 1, maxAttempts: 3, isFinal: failure.isFinal,
        consumes: failure.consumesAttempt,
        retryAfter: failure.retryAfter, using: &random)
      switch EndpointVerdict(failure) {
      case .pauses(let pause):
        try hold(!failure.consumesAttempt && !failure.isFinal, "\(failure) pauses and costs an attempt")
        try hold(decision != .dead, "\(failure) pauses and ends the job")
        // The answers here name 7 s, which only a limit obeys: who is refused must change something first.
        let seconds: Int
        switch failure.failureClass {
        case .credentials: seconds = 30
        case .permission: seconds = 60
        default: seconds = 7
        }
        try hold(pause.probeEvery == .seconds(seconds), "\(failure) pauses \(pause), not for \(seconds) s")
      case .overloaded:
        try hold([408, 429, 503].contains(failure.status), "\(failure) is an overload")
        try hold(
          failure.consumesAttempt == (failure.status == 503), "\(failure) consumes \(failure.consumesAttempt)"
        )
        guard case .retry(let after, _) = decision else { throw BrokenRule("\(failure) ends the job") }
        try hold(after >= .seconds(7), "\(failure) asked for 7 s, and the job waits \(after)")
      case .failing:
        try hold(failure.consumesAttempt && decision != .dead, "\(failure) is retried and counts")
      case .healthy:
        try hold(failure.isFinal == (decision == .dead), "\(failure) is \(decision)")
      }
    }
  }

  private static func job(_ number: Int64) throws -> ReadyJob {
    guard let period = Period(label: 24_310) else { throw BrokenRule("24310 is a month") }
    let job = ClaimedJob(
      shard: 0, lease: 1, lane: Lane(.throat, .normal), id: JobID(number), period: period, attempt: 1,
      maxAttempts: 3, virtualTime: 0, userID: 1, kind: .throat, image: ImageKey(period: period, id: 1),
      imageMark: [], imageBytes: 1, isUnsanitized: false, isExpired: false)
    return ReadyJob(job: job, image: StoredImage(bytes: Blob([1]), sha256: []))
  }

  @Test("why an endpoint is left alone is said in our words, and none of the endpoint's")
  func reasons() throws {
    let classifier = Classifier(now: 1_900_000_000)
    let refused = TransferError(
      .connectionRefused, phase: .connecting, certainlyNotSent: true,
      message: "a.example.org refused the connection: nothing listens there.", answer: nil)
    #expect(
      classifier.failure(of: refused).endpointReason
        == "a.example.org refused the connection: nothing listens there")
    let failed = try #require(
      classifier.failure(
        status: 500, headers: [:], body: Array(#"{"error":true,"message":"tonsillitis"}"#.utf8)))
    #expect(failed.endpointReason == "it answers with status 500")
  }

  /// A client that calls nobody.
  private func withModelClient(_ body: (ModelClient) throws -> Void) async throws {
    let loop = try EventLoop(name: "gate")
    let http = HTTPClient(loop: loop)
    let client = ModelClient(
      endpoint: Endpoint(name: "test", baseURL: "http://127.0.0.1:9", dialect: .server), http: http,
      credentials: nil)
    let result = Result { try body(client) }
    await http.close()
    loop.shutdown()
    try result.get()
  }

  @Test("a gate never has more calls in flight than its window, and takes jobs in their order")
  func gate() async throws {
    try await withModelClient { client in
      try simulate(200) { random in
        let greatest = Int.random(in: 1...12, using: &random)
        var gate = EndpointGate(client: client, greatestWindow: greatest, callDuration: Histogram())
        var now = ContinuousClock.now
        var queued: Int64 = 0
        var expected: Int64 = 1
        var calls: [Breaker.Admission] = []
        for _ in 0..<100 {
          now += .milliseconds(Int64.random(in: 0...800, using: &random))
          if gate.ready.count < 20 {
            queued += 1
            gate.ready.append(try Self.job(queued), for: nil, cost: 1)
          }
          if Bool.random(using: &random), !calls.isEmpty {
            let call = calls.remove(at: Int.random(in: calls.indices, using: &random))
            gate.inFlight -= 1
            switch Int.random(in: 0..<4, using: &random) {
            case 0: gate.breaker.succeeded()
            case 1: gate.window.overloaded()
            default: gate.breaker.failed(call, at: now)
            }
            // An overload is an answer too.
            if gate.window.size < greatest { gate.window.succeeded(after: .milliseconds(10)) }
          }
          let (size, wanted) = (gate.window.size, gate.wantsJobs(at: now))
          while let job = gate.take(at: now) {
            try hold(calls.count < size, "\(calls.count + 1) calls are in flight, in a window of \(size)")
            try hold(wanted, "a call begins at an endpoint that wants no jobs")
            try hold(job.job.id.value == expected, "job \(expected) was next, not \(job.job.id)")
            expected += 1
            calls.append(job.admission)
            try hold(gate.inFlight == calls.count, "\(gate.inFlight) of \(calls.count) calls are counted")
            if job.admission != .ordinary { break }
          }
        }
      }
    }
  }
}
