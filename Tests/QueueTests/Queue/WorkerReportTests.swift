import Testing

@testable import Queue

@Suite("What a worker tells, as JSON")
struct WorkerReportTests {
  @Test("comes back as it was, whatever is not said")
  func roundTrip() {
    let whole = WorkerReport(
      counters: ["a": 1],
      endpoints: [
        .init(
          name: "https://a.example.org", kinds: ["ear"], state: .shut, reason: "it fails",
          nextTrySeconds: 2.5, inFlight: 1, window: 4)
      ], clockAhead: -0.5, clockUncertainty: 0.25)
    #expect(WorkerReport(json: whole.json) == whole)
    #expect(WorkerReport(json: WorkerReport().json) == WorkerReport())
    #expect(WorkerReport(json: "{}") == WorkerReport())
  }

  @Test("of another version: what is more is passed over, and what is not understood is none")
  func others() {
    #expect(WorkerReport(json: #"{"counters":{"new":7},"more":[1]}"#)?.counters == ["new": 7])
    #expect(WorkerReport(json: #"{"endpoints":[{"name":"a","state":"resting"}]}"#) == nil)
  }

  @Test("a clock is compared with the middle of the question")
  func clock() {
    let clock = ClockComparison(sent: 100, received: 104, server: 101)
    #expect(clock.ahead == 1 && clock.uncertainty == 2)
  }
}
