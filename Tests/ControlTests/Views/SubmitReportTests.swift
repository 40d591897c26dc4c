import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue
@testable import Support

@Suite("A submit tells its results as they come")
struct SubmitReportTests {
  private let output = MemoryWriter()
  private let messages = MemoryWriter()

  private func report(
    json: Bool = false, out: Bool = false, err: Bool = false, isWaiting: Bool = false,
    isVerbose: Bool = true
  ) -> SubmitReport {
    let console = Console(
      output: output, messages: messages, outputTerminal: Terminal(isTerminal: out),
      messagesTerminal: Terminal(isTerminal: err))
    return SubmitReport(
      view: View(console: console, isJSON: json), total: 2, isWaiting: isWaiting, isVerbose: isVerbose)
  }

  private func result(_ outcome: SubmitOutcome?) -> SubmitResult {
    SubmitResult(
      SubmitItem(
        name: "a.jpg", source: .bytes([]), user: "u1", kind: .ear, priority: .normal, runAt: nil,
        expiresAt: nil, key: "k"), outcome)
  }

  private var refused: SubmitResult {
    result(.refused(Refusal(code: "x", sentence: "It is bad.", advice: "Mend it.")))
  }

  private func finish(_ report: SubmitReport, _ results: [SubmitResult]) throws {
    try report.finish(
      SubmitResponse(tally: SubmitTally(results), isInterrupted: false, failure: nil), runKey: "run")
  }

  @Test("jobs on standard output, refusals on standard error, each advice once")
  func streams() throws {
    let report = report()
    let results = [result(.duplicate(JobID(7))), refused, refused]
    for result in results { report.submitted(result) }
    #expect(output.text == "submitted before 7 a.jpg\n")
    #expect(messages.text == "refused a.jpg: It is bad.\nrefused a.jpg: It is bad.\n")
    try finish(report, results)
    #expect(messages.text.hasSuffix("It is bad.\nMend it.\n0 submitted, 1 submitted before, 2 refused.\n"))
  }

  @Test("after an interruption people read the summary alone, and programs a line for each image")
  func interrupted() throws {
    let results = Array(repeating: result(nil), count: 1000)
    let report = report()
    for result in results { report.submitted(result) }
    try finish(report, results)
    #expect(output.text == "")
    #expect(messages.text.hasPrefix("0 submitted, 1000 not submitted.\nTo submit the rest"))
    let lines = self.report(json: true)
    for result in results { lines.submitted(result) }
    #expect(output.text.split(separator: "\n").count == 1000)
  }

  @Test("with --json everything on standard output")
  func json() throws {
    let report = report(json: true)
    for result in [result(.duplicate(JobID(7))), refused] { report.submitted(result) }
    #expect(output.text.split(separator: "\n").count == 2)
    #expect(messages.text == "")
  }

  @Test(
    "lines that would run into the progress bar are held back to its end",
    arguments: [
      (false, false, false, false), (false, true, false, false), (false, false, true, true),
      (false, true, true, true), (true, false, true, false), (true, true, true, true),
    ])
  func heldBack(json: Bool, out: Bool, err: Bool, isHeld: Bool) throws {
    let report = report(json: json, out: out, err: err)
    let result = result(.duplicate(JobID(7)))
    report.submitted(result)
    #expect(output.text.isEmpty == isHeld)
    try finish(report, [result])
    #expect(!output.text.isEmpty)
  }

  @Test("with waiting a job's line comes when it has ended, a refusal's at once")
  func waiting() {
    let report = report(isWaiting: true)
    var job = result(.duplicate(JobID(7)))
    report.submitted(job)
    report.submitted(refused)
    #expect(output.text == "" && messages.text.hasPrefix("refused"))
    report.waiting(for: 1)
    report.jobFinished()
    job.state = .succeeded
    report.ended(job)
    #expect(output.text == "succeeded 7 a.jpg\n")
  }

  @Test(
    "of several images there is a line for the batch; one for each only where that is asked for, or its job failed"
  )
  func batch() throws {
    let report = report(isWaiting: true, isVerbose: false)
    var (done, dead) = (
      result(.created(JobID(7), try Fixed.month())), result(.created(JobID(8), try Fixed.month()))
    )
    (done.state, dead.state) = (.succeeded, .dead)
    for result in [done, dead] { report.ended(result) }
    var response = SubmitResponse(
      tally: SubmitTally([done, dead]), isInterrupted: false, failure: nil, batch: BatchID(17),
      batchName: "ward\u{1B} 3")
    try report.finish(response, runKey: "run", leftOut: ["photos: left out the folders in it: below"])
    #expect(output.text == "dead 8 a.jpg\nB17 ward 3: 2 jobs\n")
    #expect(messages.text.hasPrefix("photos: left out the folders in it: below\n"))

    response.isInterrupted = true
    try self.report(isVerbose: false).finish(response, runKey: "run")
    #expect(messages.text.hasSuffix("2 of 2 are in. To wait for them: analysisctl batches wait B17\n"))
  }

  @Test("a single image has its own line, and its batch one where it has a name")
  func single() throws {
    let response = SubmitResponse(
      tally: SubmitTally([result(.created(JobID(7), try Fixed.month()))]), isInterrupted: false, failure: nil,
      batch: BatchID(17))
    #expect(response.batchLine(isNeeded: false) == nil)
    var named = response
    named.batchName = "ward 3"
    #expect(named.batchLine(isNeeded: false) == "B17 ward 3: 1 job")
    named.tally.add(result(.duplicate(JobID(6))))
    #expect(named.batchLine(isNeeded: false) == "B17 ward 3: 1 new job")
  }
}
