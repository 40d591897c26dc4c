import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue
@testable import Support

@Suite("Jobs are shown")
struct JobViewTests {
  private func summary(
    _ id: Int64 = 12, state: JobState = .succeeded, file: String? = "photo.jpg", runAt: Double? = nil
  ) throws -> JobSummary {
    JobSummary(
      id: JobID(id), shard: 0, user: "u1", kind: .throat, lane: Lane(.throat, .urgent), state: state,
      period: try Fixed.month(), createdAt: Fixed.moment, runAt: runAt, expiresAt: nil,
      finishedAt: state.isTerminal ? Fixed.moment + 2 : nil, attempts: 1, sourceName: file)
  }

  @Test("a page as a table")
  func table() throws {
    let page = JobListPage(
      jobs: [
        try summary(), try summary(7, state: .waiting, file: nil), try summary(1234, file: "a\u{1B}[2J.jpg"),
      ],
      next: nil, isCutShort: false)
    let lines = Fixed.text(JobsListResponse(page: page, columns: JobColumn.usual)).split(separator: "\n").map(
      String.init)
    #expect(
      lines == [
        " JOB  USER  LANE           STATE      MONTH    SUBMITTED             ATTEMPTS  FILE",
        "  12  u1    throat/urgent  succeeded  2026-10  2026-10-01 00:00:00Z         1  photo.jpg",
        "   7  u1    throat/urgent  waiting    2026-10  2026-10-01 00:00:00Z         1  ",
        "1234  u1    throat/urgent  succeeded  2026-10  2026-10-01 00:00:00Z         1  a[2J.jpg",
      ])
  }

  @Test("a page as JSON, ids as texts and what is absent as null")
  func json() throws {
    let page = JobListPage(
      jobs: [try summary(9_007_199_254_740_993)],
      next: JobCursor(period: try Fixed.month("2026-09"), job: JobID(5)), isCutShort: false)
    #expect(
      Fixed.json(JobsListResponse(page: page, columns: JobColumn.usual))
        == [
          #"{"jobs":[{"job":"9007199254740993","user":"u1","type":"throat","lane":"throat/urgent","#,
          #""state":"succeeded","month":"2026-10","created_at":"2026-10-01T00:00:00.250Z","run_at":null,"#,
          #""expires_at":null,"finished_at":"2026-10-01T00:00:02.250Z","attempts":1,"file":"photo.jpg"}],"#,
          #""next":"2026-09/5","cut_short":false}"#,
        ].joined())
  }

  @Test("no jobs are said to be none")
  func none() {
    let page = JobListPage(jobs: [], next: nil, isCutShort: false)
    #expect(Fixed.text(JobsListResponse(page: page, columns: JobColumn.usual)) == "No jobs.\n")
    #expect(
      Fixed.json(JobsListResponse(page: page, columns: JobColumn.usual))
        == #"{"jobs":[],"next":null,"cut_short":false}"#)
  }

  @Test("of a search that stopped early nobody reads that there are no jobs")
  func cutShort() throws {
    let page = JobListPage(
      jobs: [], next: JobCursor(period: try Fixed.month(), job: JobID(5)), isCutShort: true)
    #expect(Fixed.text(JobsListResponse(page: page, columns: JobColumn.usual)) == "No jobs so far.\n")
    #expect(
      Fixed.json(JobsListResponse(page: page, columns: JobColumn.usual))
        == #"{"jobs":[],"next":"2026-10/5","cut_short":true}"#)
  }

  private func analysed(isSerious: Bool = true) throws -> JobDetail {
    let conditions = """
      [{"id": "tonsillitis", "name": "Tonsillitis", "confidence": 0.7999, "band": 3, "normal": false},
       {"id": "normal", "name": "Normal", "confidence": 0.05, "band": 1, "normal": true}]
      """
    let result = StoredResult(
      analysisID: "a-1", answeredAt: nil, finishedAt: Fixed.moment + 2, conditionsJSON: conditions,
      isSerious: isSerious, advisesConsultation: nil, endpointSaysSerious: true,
      endpointAdvisesConsultation: false,
      calls: 1, callMilliseconds: 52, model: "m1", endpoint: "main", version: "1.0", attempt: 2)
    let attempt = AttemptRecord(
      attempt: 1, at: Fixed.moment + 1, failureClass: "server", code: nil, message: "HTTP 503",
      errorID: "e-17",
      status: 503, calls: 1, maybeCounted: false, consumed: true, endpoint: "main", worker: 7, host: "w1",
      pid: 42)
    let lost = AttemptRecord(
      attempt: 2, at: Fixed.moment + 2, failureClass: "worker_lost", code: nil,
      message: "The worker was lost while the job was in its lease.", errorID: nil, status: nil, calls: 1,
      maybeCounted: true, consumed: false, endpoint: nil, worker: 8, host: nil, pid: nil)
    return JobDetail(summary: try summary(), attempts: [attempt, lost], result: result, death: nil)
  }

  @Test("an analysed job with its conditions and failed attempts; 0.7999 is 79% and orange")
  func analysedJob() throws {
    #expect(
      Fixed.text(try analysed()) == """
        job               12
        user              u1
        file              photo.jpg
        lane              throat/urgent
        state             succeeded
        month             2026-10
        submitted         2026-10-01 00:00:00Z
        ended             2026-10-01 00:00:02Z
        analysis          a-1
        endpoint          main
        model             m1
        calls             1
        serious           yes
        endpoint serious  yes
        endpoint consult  no

        CONDITION    CONFIDENCE  BAND
        Tonsillitis         79%  orange
        Normal               5%  normal

        ATTEMPT  AT                    CLASS        CODE  CALLS  COUNTS  WORKER    ENDPOINT  ERROR ID  MESSAGE
              1  2026-10-01 00:00:01Z  server       503       1  yes     w1 42     main      e-17      HTTP 503
              2  2026-10-01 00:00:02Z  worker_lost           1?  no      number 8                      The worker was lost while the job was in its lease.

        """)
  }

  @Test("of what the endpoint says and is not counted here, why not")
  func flags() throws {
    let said = try #require(try analysed(isSerious: false).result)
    #expect(said.flags[0]?.hasPrefix("no: the endpoint says so of no condition that is sure enough") == true)
    #expect(said.flags[1...] == [nil, "yes", "no"])
  }

  @Test("the same as JSON")
  func analysedJSON() throws {
    let text = Fixed.json(try analysed())
    #expect(text.hasPrefix(#"{"job":"12","user":"u1""#))
    #expect(
      text.hasSuffix(
        [
          #""attempt_errors":[{"attempt":1,"at":"2026-10-01T00:00:01.250Z","class":"server","code":null,"#,
          #""message":"HTTP 503","error_id":"e-17","status":503,"calls":1,"maybe_counted":false,"counts":true,"#,
          #""endpoint":"main","worker":"7","worker_name":"w1 42"},{"attempt":2,"at":"2026-10-01T00:00:02.250Z","#,
          #""class":"worker_lost","code":null,"message":"The worker was lost while the job was in its lease.","#,
          #""error_id":null,"status":null,"calls":1,"maybe_counted":true,"counts":false,"endpoint":null,"#,
          #""worker":"8","worker_name":null}],"result":{"analysis":"a-1","answered_at":null,"#,
          #""finished_at":"2026-10-01T00:00:02.250Z","serious":true,"consult":null,"#,
          #""endpoint_serious":true,"endpoint_consult":false,"conditions":["#,
          #"{"id":"tonsillitis","name":"Tonsillitis","confidence":0.7999,"percentage":"79%","band":"orange","#,
          #""normal":false},{"id":"normal","name":"Normal","confidence":0.05,"percentage":"5%","band":"green","#,
          #""normal":true}],"attempt":2,"calls":1,"call_milliseconds":52,"endpoint":"main","model":"m1","#,
          #""version":"1.0"},"death":null,"holder":null}"#,
        ].joined()))
  }

  @Test("a dead job with its cause")
  func deadJob() throws {
    let death = JobDeath(
      attempts: 1, failureClass: "permanent", code: "INVALID_IMAGE_FORMAT", message: "no picture",
      failedAt: Fixed.moment + 2, calls: 1, status: 400)
    let detail = JobDetail(summary: try summary(state: .dead), attempts: [], result: nil, death: death)
    let text = Fixed.text(detail)
    #expect(text.contains("state      dead\n"))
    #expect(text.contains("failed     permanent: INVALID_IMAGE_FORMAT: no picture\nattempts   1\n"))
    #expect(
      Fixed.json(detail).hasSuffix(
        #""result":null,"death":{"at":"2026-10-01T00:00:02.250Z","class":"permanent","#
          + #""code":"INVALID_IMAGE_FORMAT","message":"no picture","attempts":1,"calls":1},"holder":null}"#))
  }

  @Test("a running job names its worker, as far as that is known")
  func running() throws {
    var detail = JobDetail(summary: try summary(state: .running), attempts: [], result: nil, death: nil)
    detail.holder = JobHolder(
      worker: 77, host: "w1", pid: 42, version: "1.0", startedAt: Fixed.moment, heartbeatAgo: 3,
      deadline: Fixed.moment + 15, endpoints: ["https://a.example.org"])
    #expect(
      Fixed.text(detail).hasSuffix(
        """
        worker          w1 42
        version         1.0
        worker started  2026-10-01 00:00:00Z
        heard of        3 s ago
        held until      2026-10-01 00:00:15Z
        endpoint        https://a.example.org

        """))
    #expect(
      Fixed.json(detail).hasSuffix(
        #""holder":{"worker":"77","name":"w1 42","version":"1.0","started_at":"2026-10-01T00:00:00.250Z","#
          + #""heartbeat_seconds_ago":3.0,"held_until":"2026-10-01T00:00:15.250Z","#
          + #""endpoints":["https://a.example.org"]}}"#))
    detail.holder = JobHolder(
      worker: 77, host: nil, pid: nil, version: nil, startedAt: nil, heartbeatAgo: nil,
      deadline: Fixed.moment,
      endpoints: [])
    #expect(Fixed.text(detail).contains("worker      number 77\nheld until  "))
  }

  @Test("a job without a finding says so")
  func noFinding() throws {
    let detail = try analysed()
    let result = try #require(detail.result)
    let empty = StoredResult(
      analysisID: result.analysisID, answeredAt: nil, finishedAt: result.finishedAt, conditionsJSON: "[]",
      isSerious: nil, advisesConsultation: nil, endpointSaysSerious: nil, endpointAdvisesConsultation: nil,
      calls: 1, callMilliseconds: nil, model: nil, endpoint: nil, version: nil, attempt: 1)
    let text = Fixed.text(
      JobDetail(summary: detail.summary, attempts: [], result: empty, death: nil))
    #expect(text.hasSuffix("No condition was found.\n"))
  }

  @Test("what became of jobs that were to be changed, and the exit code that says it")
  func changes() throws {
    let response = JobsChangeResponse(lines: [
      .init(job: JobID(1), outcome: .cancelled), .init(job: JobID(2), outcome: .requeued(try Fixed.month())),
      .init(job: JobID(3), outcome: .quota), .init(job: JobID(4), outcome: .untouched(.finished)),
      .init(job: JobID(5), outcome: .meant(.dead, .retry)),
      .init(job: JobID(7), outcome: .meant(.running, .cancel)),
      .init(job: JobID(6), outcome: .untouched(.tooLate)),
    ])
    #expect(
      Fixed.text(response) == """
        1 cancelled
        2 queued again, counts in 2026-10
        3 not queued: the user's limit of this month is reached
        4 unchanged: it was analysed before
        5 dead: would be queued again
        7 running: would be cancelled
        6 unchanged: it was cancelled more than a day ago

        """)
    #expect(
      Fixed.json(response)
        == [
          #"{"jobs":[{"job":"1","outcome":"cancelled"},{"job":"2","outcome":"requeued","month":"2026-10"},"#,
          #"{"job":"3","outcome":"quota"},{"job":"4","outcome":"finished"},"#,
          #"{"job":"5","outcome":"dry_run","state":"dead"},{"job":"7","outcome":"dry_run","state":"running"},"#,
          #"{"job":"6","outcome":"too_late"}]}"#,
        ].joined())
    #expect(response.exitCode == .refused)
    #expect(JobsChangeResponse(lines: Array(response.lines.prefix(3))).exitCode == .quotaRefused)
    #expect(JobsChangeResponse(lines: Array(response.lines.prefix(2))).exitCode == .done)
    #expect(JobsChangeResponse(lines: []).exitCode == .nothingToDo)
  }
}
