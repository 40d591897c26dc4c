import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Endpoint
@testable import Queue
@testable import Support

@Suite("No view lets a hostile text fool its reader")
struct HostileViewTests {
  @Test("jobs, listed, shown and changed", arguments: HostileText.all)
  func jobs(hostile: HostileText) throws {
    let text = hostile.text
    let summary = JobSummary(
      id: JobID(12), shard: 0, user: text, kind: .throat, lane: Lane(.throat, .urgent), state: .dead,
      period: try Fixed.month(), createdAt: Fixed.moment, runAt: nil, expiresAt: nil,
      finishedAt: Fixed.moment,
      attempts: 1, sourceName: text)
    let attempt = AttemptRecord(
      attempt: 1, at: Fixed.moment, failureClass: text, code: text, message: text, errorID: text, status: 503,
      calls: 1, maybeCounted: false, consumed: true, endpoint: text, worker: 7,
      host: text, pid: 1)
    let conditions: JSONValue = [["id": .string(text), "name": .string(text), "confidence": .number(0.5)]]
    let result = StoredResult(
      analysisID: text, answeredAt: nil, finishedAt: Fixed.moment, conditionsJSON: conditions.json,
      isSerious: true, advisesConsultation: true, endpointSaysSerious: true,
      endpointAdvisesConsultation: true,
      calls: 1, callMilliseconds: 52, model: text, endpoint: text, version: text, attempt: 2)
    let death = JobDeath(
      attempts: 1, failureClass: text, code: text, message: text, failedAt: Fixed.moment, calls: 1,
      status: 503)
    check(
      JobsListResponse(
        page: JobListPage(jobs: [summary], next: nil, isCutShort: false), columns: JobColumn.usual))
    let failed = FailedJob(
      summary: summary, failureClass: text, code: text, status: 400, message: text, worker: 7,
      workerName: text)
    check(
      FailedJobsResponse(
        page: FailedJobPage(jobs: [failed], next: nil, isCutShort: false), columns: JobColumn.allCases))
    check(
      JobDetail(summary: summary, attempts: [attempt], result: result, death: death))
  }

  @Test("results of a submit", arguments: HostileText.all)
  func submit(hostile: HostileText) throws {
    let item = SubmitItem(
      name: hostile.text, source: .bytes([]), user: hostile.text, kind: .ear, priority: .bulk, runAt: nil,
      expiresAt: nil, key: hostile.text)
    let refusal = Refusal(code: hostile.text, sentence: hostile.text, advice: hostile.text)
    for outcome: SubmitOutcome? in [
      .created(JobID(7), try Fixed.month()), .refused(refusal), nil,
    ] {
      check(SubmitResult(item, outcome))
    }
  }

  @Test("users, plans and clinics", arguments: HostileText.all)
  func users(hostile: HostileText) throws {
    let text = hostile.text
    let profile = Profile(
      name: text, email: text, birthday: text, address: text, gender: text, endpointSubscription: text,
      endpointCount: 4, lastReset: nil,
      updatedAt: Fixed.moment)
    let user = UserDetail(
      reference: text, shard: 0, userID: 9, zone: text, createdAt: Fixed.moment, plan: text,
      planDisplayName: text, planHistory: [PlanEntry(plan: text, from: nil)], period: try Fixed.month(),
      limit: 5, used: 3, refunded: 1, refused: 2, analysed: 2, profile: profile)
    check(user)
    let summary = UserSummary(
      reference: text, zone: text, plan: text, planName: text, limit: 5, used: 5,
      period: try Fixed.month())
    check(UsersListResponse(users: [summary], isFull: true))
    check(
      UsersImportResponse(lines: [.init(line: 3, user: text, outcome: .refused(text))]))
    check(UsersRenameResponse(was: text, name: text, number: 9))
    check(PhotoResponse(user: text, host: text, isReplaced: true, copy: .failed(text)))
    let change = UserChange(field: "name", was: text, becomes: text)
    check(AccountSyncResponse(user: text, changes: [change], limit: nil, isDry: true))
    let account = AccountResponse(
      account: EndpointUser(id: text, email: text, name: text, subscription: .free), done: "registered",
      showsPerson: true, user: text, changes: [change])
    check(account)
    check(AccountProfileResponse(account: account, user: text, changes: [change]))
    check(AccountDeleteResponse(lines: [.init(analysis: text, failure: text)]))
    check(PlansResponse(plans: [Plan(name: text, displayName: text, cost: 10, limits: [], prices: [])]))
    check(
      ClinicsResponse(
        clinics: [Clinic(id: 1, name: text, users: 2)], viewers: [ClinicViewer(role: text, clinics: [text])]))
  }

  @Test("workers, endpoints and pauses", arguments: HostileText.all)
  func status(hostile: HostileText) {
    let text = hostile.text
    var queue = QueueStatus()
    queue.workers = [
      .init(
        id: 1, host: text, pid: 42, version: text, startedAt: Fixed.moment, age: 9, heartbeatAgo: 1.5,
        inFlight: 64,
        report: WorkerReport(
          counters: [text: 1],
          endpoints: [
            .init(
              name: text, kinds: [text], state: .shut, reason: text, nextTrySeconds: 12.5, inFlight: 3,
              window: 32)
          ], clockAhead: 0.5, clockUncertainty: 0.25))
    ]
    let pause = OperatorPause(.endpoint(text), reason: text, by: text, since: Fixed.moment, until: nil)
    queue.pauses = [pause]
    check(StatusResponse(queue: queue, schemaVersion: 4))
  }

  @Test("the audit, and what the doctor finds", arguments: HostileText.all)
  func audit(hostile: HostileText) {
    let text = hostile.text
    let detail: JSONValue = [text: .string(text)]
    check(
      AuditListResponse(entries: [
        AuditEntry(
          id: 1, at: Fixed.moment, role: text, user: text, host: text, address: text, action: text,
          object: text,
          reason: text, detail: detail.json, hash: text)
      ]))
    check(
      DoctorReport(findings: [.warning("a.b", text, text)], isDatabaseReached: true))
  }

  @Test("a message about what was typed", arguments: HostileText.all)
  func messages(hostile: HostileText) async {
    let control = Control(database: "host=/nowhere")
    for arguments in [[hostile.text], ["jobs", "list", "--user", hostile.text, "--type", hostile.text]] {
      let ran = await control.run(arguments)
      #expect(ran.code == .usage)
      #expect(HostileText.found(in: ran.messages, except: "\n") == [])
    }
  }

  /// Nothing hostile is in what people see, nor in the JSON.
  private func check(_ response: some Presentable, _ location: SourceLocation = #_sourceLocation) {
    #expect(HostileText.found(in: Fixed.text(response), except: "\n") == [], sourceLocation: location)
    #expect(HostileText.found(in: Fixed.json(response)) == [], sourceLocation: location)
  }
}
