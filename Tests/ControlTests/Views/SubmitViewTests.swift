import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue
@testable import Support

@Suite("Results of a submit are shown")
struct SubmitViewTests {
  private func result(_ outcome: SubmitOutcome?, state: JobState? = nil) -> SubmitResult {
    let item = SubmitItem(
      name: "photos/a\u{1B}.jpg", source: .bytes([]), user: "u1", kind: .ear, priority: .bulk, runAt: nil,
      expiresAt: nil, key: "k:1")
    var result = SubmitResult(item, outcome)
    result.state = state
    return result
  }

  private let quota = Refusal(
    code: "quota", sentence: "The limit is reached.", advice: "Wait.", limit: 5, used: 5)

  @Test("a line for each")
  func lines() throws {
    let created = SubmitOutcome.created(JobID(7), try Fixed.month())
    let shown = [
      result(created), result(.duplicate(JobID(7))), result(created, state: .succeeded),
      result(.duplicate(JobID(7)), state: .dead), result(.refused(quota)), result(nil),
    ].map { Fixed.text($0) }.joined()
    #expect(
      shown == """
        submitted 7 photos/a.jpg
        submitted before 7 photos/a.jpg
        succeeded 7 photos/a.jpg
        dead 7 photos/a.jpg
        refused photos/a.jpg: The limit is reached.
        not submitted photos/a.jpg

        """)
  }

  @Test("a line of JSON for each, always with the same members")
  func json() throws {
    #expect(
      Fixed.json(result(.created(JobID(7), try Fixed.month())))
        == [
          #"{"file":"photos/a\u001b.jpg","user":"u1","type":"ear","priority":"bulk","outcome":"created","#,
          #""job":"7","month":"2026-10","key":"k:1","reason":null,"message":null,"advice":null,"limit":null,"#,
          #""used":null,"state":null,"batch":null,"reference":null,"result":null}"#,
        ].joined())
    #expect(
      Fixed.json(result(.refused(quota)))
        == [
          #"{"file":"photos/a\u001b.jpg","user":"u1","type":"ear","priority":"bulk","outcome":"refused","#,
          #""job":null,"month":null,"key":"k:1","reason":"quota","message":"The limit is reached.","#,
          #""advice":"Wait.","limit":5,"used":5,"state":null,"batch":null,"reference":null,"result":null}"#,
        ].joined())
    #expect(
      Fixed.json(result(.duplicate(JobID(7)), state: .dead))
        .hasSuffix(#""used":null,"state":"dead","batch":null,"reference":null,"result":null}"#))
    #expect(Fixed.json(result(nil)).contains(#""outcome":"not_submitted""#))
  }

  @Test("colours only where they are wanted")
  func colour() {
    #expect(
      result(.duplicate(JobID(7)), state: .dead).text(width: nil, paint: Paint(true))
        == "\u{1B}[31mdead\u{1B}[0m 7 photos/a.jpg\n")
  }
}
