import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue
@testable import Support

@Suite("What a submit came to decides its exit code")
struct SubmitTallyTests {
  enum Part: CaseIterable {
    case created, duplicate, quota, other, notReached, succeeded, dead, cancelled, waiting

    var result: SubmitResult {
      let item = SubmitItem(
        name: "a.jpg", source: .bytes([]), user: "u", kind: .throat, priority: .normal, runAt: nil,
        expiresAt: nil, key: "k")
      let job = JobID(1)
      let refusal = Refusal(code: self == .quota ? "quota" : "x", sentence: "", advice: nil)
      let outcome: SubmitOutcome? =
        switch self {
        case .quota, .other: .refused(refusal)
        case .notReached: nil
        case .created: Period("2026-11").map { .created(job, $0) }
        default: .duplicate(job)
        }
      var result = SubmitResult(item, outcome)
      switch self {
      case .succeeded: result.state = .succeeded
      case .dead: result.state = .dead
      case .cancelled: result.state = .cancelled
      case .waiting: result.state = .waiting
      default: break
      }
      return result
    }
  }

  @Test(
    "the rule, case by case",
    arguments: [
      ([], 0), ([.created], 0), ([.duplicate], 0), ([.created, .duplicate, .succeeded], 0),
      ([.created, .quota], 3), ([.quota], 3), ([.other], 4), ([.created, .other], 4),
      ([.quota, .other], 4), ([.created, .quota, .other], 4), ([.notReached], 75),
      ([.created, .quota, .notReached], 75), ([.waiting], 75), ([.succeeded, .waiting], 75), ([.dead], 1),
      ([.cancelled], 1), ([.dead, .waiting], 1), ([.dead, .quota], 1), ([.dead, .other], 1),
      ([.succeeded, .quota], 3), ([.succeeded, .other], 4),
    ] as [([Part], Int32)])
  func rule(parts: [Part], code: Int32) {
    #expect(SubmitTally(parts.map(\.result)).exitCode.code == code)
  }

  @Test("the order in which things happened does not matter")
  func order() {
    let parts = Part.allCases
    #expect(SubmitTally(parts.map(\.result)) == SubmitTally(parts.reversed().map(\.result)))
  }

  @Test("the summary names what there was and nothing else")
  func summary() {
    #expect(SubmitTally().summary == "0 submitted.")
    let all = SubmitTally(Part.allCases.map(\.result))
    #expect(
      all.summary
        == "1 submitted, 5 submitted before, 1 refused by the monthly limit, 1 refused, 1 not submitted, "
        + "2 failed, 1 not finished.")
  }

  @Test("images that were scaled below what models see are warned of, once and if they were submitted")
  func belowModelSide() {
    let results = Part.allCases.map(\.result).map { result in
      var result = result
      result.isBelowModelSide = true
      return result
    }
    #expect(SubmitTally(Part.allCases.map(\.result)).warning == nil)
    #expect(
      SubmitTally(results).warning
        == "6 scaled to less than 224 pixels on the shorter side. The endpoint's models enlarge such images "
        + "again, which can change a diagnosis: give --min-side 224 instead.")
  }
}
