import Testing

@testable import Support

@Suite("Periods, lanes, ids")
struct ValueTests {
  @Test(
    "A period is written and read as YYYY-MM",
    arguments: [("2026-11", 24322), ("2000-01", 24000), ("2026-12", 24323)])
  func periods(text: String, label: Int) throws {
    let period = try #require(Period(text))
    #expect(Int(period.label) == label)
    #expect(period.description == text)
  }

  @Test(
    "Nothing else is a period",
    arguments: [
      "2026-13", "2026-00", "2026-1", "26-11", "2026-11-01", "", "-", "2026-+1", "٢٠٢٦-11", "1999-12",
      "2700-01",
    ])
  func badPeriods(text: String) {
    #expect(Period(text) == nil)
  }

  @Test("A batch's number is written with a B, and read with it or without")
  func batches() {
    #expect(BatchID(17).description == "B17")
    for text in ["B17", "b17", "17"] { #expect(BatchID(text) == BatchID(17)) }
    for text in ["", "B", "BB1", "-1", "+1", "B+1", "0", "1.5", "C17", "99999999999999999999", "١٧"] {
      #expect(BatchID(text) == nil, "\(text)")
    }
  }

  @Test("The month after December is January of the next year")
  func nextPeriod() throws {
    let december = try #require(Period("2026-12"))
    #expect(december.next?.description == "2027-01")
    #expect(december.next?.previous == december)
  }

  @Test("Every kind and priority has a lane of its own, and each kind one for quarantine")
  func lanes() {
    var codes: Set<Int16> = []
    for kind in AnalysisKind.allCases {
      for priority in Priority.allCases {
        let lane = Lane(kind, priority)
        codes.insert(lane.code)
        #expect(Lane(code: lane.code) == lane)
        #expect(lane.kind == kind)
        #expect(lane.priority == priority)
        #expect(!lane.isQuarantine)
      }
      let quarantine = Lane.quarantine(of: kind)
      codes.insert(quarantine.code)
      #expect(quarantine.isQuarantine)
      #expect(quarantine.priority == nil)
      #expect(quarantine.kind == kind)
    }
    #expect(codes.count == AnalysisKind.allCases.count * 4)
    #expect(Lane(code: 3) == nil)
    #expect(Lane(code: -1) == nil)
  }

  @Test("Kinds and bands keep their numbers of the database")
  func codes() {
    #expect(AnalysisKind.allCases.map(\.code) == [1, 2])
    #expect(ConfidenceBand.allCases.map(\.code) == [1, 2, 3, 4])
    #expect(AnalysisKind(code: 3) == nil)
    #expect(ConfidenceBand(code: 0) == nil)
  }

  @Test("A job's id is a positive number", arguments: ["0", "-1", "x", "", "9223372036854775808", "1.0"])
  func badIDs(text: String) {
    #expect(JobID(text) == nil)
  }

  @Test("An analysis names its first two conditions and gathers their flags")
  func analysis() throws {
    let half = try #require(Confidence(0.5))
    let first = Condition(id: "a", name: "A", confidence: half)
    let second = Condition(id: "b", name: "B", confidence: half, isPotentiallySerious: true)
    let analysis = Analysis(id: "1", kind: .ear, conditions: [first, second])
    #expect(analysis.primary == first)
    #expect(analysis.secondary == second)
    #expect(analysis.isPotentiallySerious == true && analysis.seriousConfidence == 0.5)
    #expect(analysis.recommendsConsultation == nil && analysis.consultationConfidence == nil)
    #expect(Analysis(id: "2", kind: .ear, conditions: []).primary == nil)
  }
}
