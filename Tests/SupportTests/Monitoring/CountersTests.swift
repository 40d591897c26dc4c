import Testing

@testable import Support

@Suite("Counters")
struct CountersTests {
  @Test("a name has one counter, which only grows")
  func counter() {
    let counters = Counters()
    counters.counter("jobs.completed").add()
    counters.counter("jobs.completed").add(4)
    counters.counter("jobs.completed").add(-3)
    #expect(counters.counter("jobs.completed").value == 5)
  }

  @Test("a gauge goes up and down")
  func gauge() {
    let gauge = Counters().gauge("in_flight")
    gauge.set(7)
    gauge.add(-3)
    #expect(gauge.value == 4)
  }

  @Test("nothing counted at once by many is lost")
  func concurrent() async {
    let counters = Counters()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<1000 { counters.counter("n").add() }
        }
      }
    }
    #expect(counters.counter("n").value == 8000)
  }
}
