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

  @Test("a snapshot holds every number, by name")
  func snapshot() {
    let counters = Counters()
    counters.counter("b").add(2)
    counters.gauge("a").set(-1)
    counters.counter("c").add()
    #expect(
      counters.snapshot() == [
        .init(name: "a", kind: .gauge, value: -1), .init(name: "b", kind: .counter, value: 2),
        .init(name: "c", kind: .counter, value: 1),
      ])
  }
}

extension Counters.Reading {
  init(name: String, kind: Kind, value: Int) {
    let counters = Counters()
    switch kind {
    case .counter: counters.counter(name).add(value)
    case .gauge: counters.gauge(name).set(value)
    }
    self = counters.snapshot()[0]
  }
}
