import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue
@testable import Support

@Suite("Status, migrations and differences are shown")
struct StatusViewTests {
  private var busy: StatusResponse {
    var queue = QueueStatus()
    queue.lanes = [
      .init(
        lane: Lane(.throat, .urgent), waiting: BoundedCount(10_000, isExact: false), inFlight: 64,
        oldestWaitingSeconds: 130),
      .init(lane: .quarantine(of: .ear), waiting: BoundedCount(0), inFlight: 0, oldestWaitingSeconds: nil),
    ]
    queue.scheduled = BoundedCount(2)
    queue.nextScheduledAt = Fixed.moment
    queue.dead = BoundedCount(1)
    queue.pendingRefunds = BoundedCount(3)
    queue.workers = [
      .init(
        id: Int64.max, host: "w1", pid: 42, version: "1.0", startedAt: Fixed.moment, age: 7300,
        heartbeatAgo: 1.5,
        inFlight: 64,
        report: WorkerReport(
          counters: ["jobs_completed": 900, "jobs_rescued": 2, "outcomes_stale": 1, "database_connects": 9],
          endpoints: [
            .init(
              name: "https://a.example.org", kinds: ["throat", "ear"], state: .shut,
              reason: "it fails (server)",
              nextTrySeconds: 12.5, inFlight: 3, window: 32)
          ], clockAhead: 0.5, clockUncertainty: 0.25))
    ]
    queue.pauses = [
      OperatorPause(
        .kind(.ear), reason: "upgrade", by: "operator", since: Fixed.moment, until: Fixed.moment + 60)
    ]
    queue.gauges = ["waiting": 20_000, "database_bytes": 5]
    queue.countedAgo = 2.5
    queue.state = QueueState(.working)
    queue.rates = .init(tenSeconds: 20.04, minute: 16, fiveMinutes: nil)
    return StatusResponse(queue: queue, schemaVersion: 4)
  }

  @Test("a busy queue as tables")
  func table() {
    let lines = Fixed.text(busy).split(separator: "\n").map(String.init)
    #expect(
      lines == [
        "waiting 10000+, running 64, scheduled 2, dead 1; counted 2 s ago",
        "working",
        "done a second: 20.0 (10 s), 16.0 (1 min); empty in 10 min",
        "next scheduled run: 2026-10-01 00:00:00Z",
        "refunds to be applied: 3",
        "ear: paused by operator since 2026-10-01 00:00:00Z until 2026-10-01 00:01:00Z: upgrade",
        "LANE           WAITING  RUNNING  OLDEST",
        "throat/urgent   10000+       64   2 min",
        "WORKER  PID  STATE  VERSION  STARTED  HEARD OF  RUNNING",
        "w1       42  alive  1.0      2 h ago   1 s ago       64",
        "SINCE ITS START  DONE  RETRIED  DEAD  RESCUED  STALE  LOST  CONNECTS  FAILED",
        "w1 42             900        0     0        2      1     0         9       0",
        "ENDPOINT               TYPES       WORKER  STATE                CALLS",
        "https://a.example.org  throat,ear  w1 42   shut, again in 12 s   3/32",
        "https://a.example.org: it fails (server)",
      ])
  }

  @Test("a busy queue as JSON, the worker's random number as text")
  func json() {
    #expect(
      Fixed.json(busy)
        == [
          #"{"schema_version":4,"state":"working","state_reason":null,"waiting":{"value":10000,"exact":false},"in_flight":64,"#,
          #""scheduled":{"value":2,"exact":true},"next_scheduled_at":"2026-10-01T00:00:00.250Z","#,
          #""dead":{"value":1,"exact":true},"counted_seconds_ago":2.5,"#,
          #""done_per_second":{"10s":20.04,"1min":16.0,"5min":null},"seconds_until_empty":629.0,"#,
          #""pending_refunds":{"value":3,"exact":true},"oldest_waiting_seconds":130.0,"lanes":[{"lane":"throat/urgent","#,
          #""waiting":{"value":10000,"exact":false},"in_flight":64,"oldest_waiting_seconds":130.0},"#,
          #"{"lane":"ear/quarantine","waiting":{"value":0,"exact":true},"in_flight":0,"#,
          #""oldest_waiting_seconds":null}],"workers":[{"id":"9223372036854775807","host":"w1","pid":42,"#,
          #""version":"1.0","started_at":"2026-10-01T00:00:00.250Z","state":"alive","heartbeat_seconds_ago":1.5,"#,
          #""in_flight":64,"report":{"counters":{"database_connects":9,"jobs_completed":900,"jobs_rescued":2,"#,
          #""outcomes_stale":1},"endpoints":[{"name":"https://a.example.org","types":["throat","ear"],"#,
          #""state":"shut","reason":"it fails (server)","next_try_seconds":12.5,"in_flight":3,"window":32}],"#,
          #""clock_ahead_seconds":0.5,"clock_uncertainty_seconds":0.25}}],"pauses":[{"endpoint":null,"#,
          #""type":"ear","reason":"upgrade","by":"operator","since":"2026-10-01T00:00:00.250Z","#,
          #""until":"2026-10-01T00:01:00.250Z"}],"gauges":{"database_bytes":5,"waiting":20000}}"#,
        ].joined())
  }

  @Test(
    "a worker is alive until 15 s after its last heartbeat, then lost",
    arguments: [(15.0, "alive"), (15.1, "lost")])
  func lost(seconds: Double, state: String) {
    var queue = QueueStatus()
    queue.workers = [
      .init(
        id: 1, host: "w1", pid: 42, version: "1.0", startedAt: Fixed.moment, age: 7300, heartbeatAgo: seconds,
        inFlight: 0,
        report: nil)
    ]
    let response = StatusResponse(queue: queue, schemaVersion: 4)
    #expect(Fixed.text(response).contains("w1       42  \(state)"))
    #expect(Fixed.json(response).contains(#""state":"\#(state)""#))
  }

  @Test("a worker that has ended is listed as ended, with what it counted and without its endpoints")
  func ended() {
    var queue = busy.queue
    queue.workers[0].hasEnded = true
    let response = StatusResponse(queue: queue, schemaVersion: 4)
    let text = Fixed.text(response)
    #expect(text.contains("w1       42  ended  1.0"))
    #expect(text.contains("w1 42             900") && !text.contains("a.example.org"))
    #expect(Fixed.json(response).contains(#""state":"ended""#))
  }

  @Test("a number that is about right has ~ before it, and JSON says that it is not exact")
  func about() {
    var queue = QueueStatus()
    queue.lanes = [
      .init(
        lane: Lane(.throat, .bulk), waiting: BoundedCount(1_234_567, isExact: false, isAbout: true),
        inFlight: 0,
        oldestWaitingSeconds: nil)
    ]
    let response = StatusResponse(queue: queue, schemaVersion: 4)
    #expect(Fixed.text(response).contains("throat/bulk  ~1234567        0"))
    #expect(Fixed.json(response).contains(#""waiting":{"value":1234567,"exact":false}"#))
  }

  @Test("an empty queue without workers says so")
  func idle() {
    let text = Fixed.text(StatusResponse(queue: QueueStatus(), schemaVersion: 4))
    #expect(text.hasPrefix("waiting 0, running 0, scheduled 0, dead 0\n"))
    let rest = "\n\nNo lane has jobs that wait or run.\n\nNo worker was heard of in the last hour.\n"
    #expect(text.hasSuffix(rest))
  }

  @Test("a dry run is SQL that can be run; a run is a list")
  func migrations() {
    let steps = [
      MigrationStep(.preparation, name: "prepare", sql: "CREATE SCHEMA a;"),
      MigrationStep(.migration(1), name: "0001_x", sql: "CREATE TABLE a.x ();\n"),
      MigrationStep(.functions, name: "f", sql: "SELECT 1;\n"),
    ]
    let dry = MigrateResponse(script: "-- all\nSELECT 1;\n", steps: steps, version: 0)
    #expect(Fixed.text(dry) == "-- all\nSELECT 1;\n")
    #expect(Fixed.json(dry).hasSuffix(#","script":"-- all\nSELECT 1;\n"}"#), "\(Fixed.json(dry))")
    let done = MigrateResponse(script: nil, steps: steps, version: 1)
    #expect(
      Fixed.text(done) == """
        applied preparation prepare
        applied migration 0001_x
        applied functions f
        The schema is at version 1.

        """)
    #expect(
      Fixed.json(
        MigrateResponse(script: nil, steps: Array(steps.suffix(1)), version: 1))
        == #"{"dry_run":false,"version":1,"steps":[{"name":"f","kind":"functions","#
        + #""sha256":"\#(steps[2].checksum)","sql":null}]}"#)
    let nothing = MigrateResponse(script: "SELECT 1;\n", steps: [], version: 4)
    #expect(
      Fixed.text(nothing) == "-- The schema is up to date (version 4). What is run all the same:\nSELECT 1;\n"
    )
  }

  @Test("differences as a table and JSON, agreement in a sentence")
  func differences() throws {
    let difference = UsageDifference(
      user: "u1", shard: 0, period: try Fixed.month(), used: 5, pendingRefunds: 1, analysed: 2, open: 1)
    let response = ReconcileResponse(month: nil, differences: [difference], lost: LostJobs())
    #expect(
      Fixed.text(response) == """
        The counters of every month do not agree with the jobs:
        USER  MONTH    COUNTER  REFUNDS  ANALYSED  OPEN  DIFFERENCE
        u1    2026-10        5        1         2     1           1

        """)
    #expect(
      Fixed.json(response)
        == #"{"month":null,"agrees":false,"differences":[{"user":"u1","shard":0,"month":"2026-10","used":5,"#
        + #""pending_refunds":1,"analysed":2,"open":1,"difference":1}],"lost":0,"lost_jobs":[],"images":null}"#
    )
    let agreed = ReconcileResponse(month: try Fixed.month(), differences: [], lost: LostJobs())
    #expect(Fixed.text(agreed) == "The counters of 2026-10 agree with the jobs.\n")
  }

  @Test("lost jobs by number, with what to do")
  func lost() throws {
    let jobs = try [12, 13].map {
      LostJob(id: JobID($0), user: "u1", shard: 0, period: try Fixed.month(), createdAt: Fixed.moment)
    }
    let all = ReconcileResponse(month: nil, differences: [], lost: LostJobs(count: 2, first: jobs))
    #expect(
      Fixed.text(all) == """
        The counters of every month agree with the jobs.
        2 jobs are in no table of the queue, and no worker will find these jobs:
        JOB  USER  MONTH    SUBMITTED
         12  u1    2026-10  2026-10-01 00:00:00Z
         13  u1    2026-10  2026-10-01 00:00:00Z
        Cancel what is lost, which gives the units back, and submit the pictures again:
        analysisctl jobs cancel 12 ...

        """)
    #expect(
      Fixed.json(all).hasSuffix(
        #""agrees":false,"differences":[],"lost":2,"lost_jobs":[{"job":"12","user":"u1","shard":0,"month":"2026-10","#
          + #""created_at":"2026-10-01T00:00:00.250Z"},{"job":"13","user":"u1","shard":0,"month":"2026-10","#
          + #""created_at":"2026-10-01T00:00:00.250Z"}],"images":null}"#))
    let more = ReconcileResponse(
      month: nil, differences: [], lost: LostJobs(count: 3000, first: Array(jobs.prefix(1))))
    #expect(
      Fixed.text(more).contains(
        "3000 jobs are in no table of the queue, and no worker will find these jobs.\nThe first 1:")
    )
  }

  @Test("images without their object by month, with what to do; objects that no image names in a sentence")
  func images() throws {
    var images = ImageStore.Comparison()
    images.objects = 7
    var response = ReconcileResponse(month: nil, differences: [], lost: LostJobs(), images: images)
    #expect(
      Fixed.text(response).hasSuffix("jobs.\nEvery image has its object (7 objects).\n") && response.isSound)
    images.unnamed = 2
    images.missing = 30
    images.changed = 1
    images.first = [
      .init(image: 4, period: try Fixed.month(), isMissing: true),
      .init(image: 15, period: try Fixed.month(), isMissing: false),
    ]
    response.images = images
    #expect(!response.isSound)
    #expect(
      Fixed.text(response).hasSuffix(
        """
        30 images have no object in the image store, 1 have one of another length.
        The first 2:
        IMAGE  MONTH    OBJECT
            4  2026-10  missing
           15  2026-10  changed
        Their jobs end with image_missing or image_tampered. Bring the objects back, or submit the pictures again.
        2 objects are of no image: purge removes them, after a day.

        """))
    #expect(
      Fixed.json(response).hasSuffix(
        #""images":{"objects":7,"missing":30,"changed":1,"unnamed":2,"first":[{"image":"4","month":"2026-10","#
          + #""trouble":"missing"},{"image":"15","month":"2026-10","trouble":"changed"}]}}"#))
  }

  @Test("statements that are due: what was written always, the rest only to who watches")
  func due() throws {
    let response = DueResponse(lines: [
      .init(month: try Fixed.month("2026-08"), outcome: .unchanged(path: "r/usage-2026-08.csv")),
      .init(
        month: try Fixed.month("2026-09"),
        outcome: .written(path: "r/usage-2026-09.csv", rows: 3, sha256: "ab")),
      .init(month: try Fixed.month("2026-10"), outcome: .left),
      .init(month: try Fixed.month("2026-07"), outcome: .unclosed),
    ])
    #expect(
      Fixed.text(response) == """
        2026-09 written r/usage-2026-09.csv (3 rows)
        2026-07 is not closed: close it with analysisctl month close 2026-07

        """)
    #expect(
      Fixed.text(response, width: 80) == """
        2026-08 is there already: r/usage-2026-08.csv
        2026-09 written r/usage-2026-09.csv (3 rows)
        2026-10 left: its time of grace is not over
        2026-07 is not closed: close it with analysisctl month close 2026-07

        """)
    #expect(
      Fixed.json(response)
        == [
          #"{"months":[{"month":"2026-08","outcome":"unchanged","file":"r/usage-2026-08.csv"},"#,
          #"{"month":"2026-09","outcome":"written","file":"r/usage-2026-09.csv","rows":3,"sha256":"ab"},"#,
          #"{"month":"2026-10","outcome":"left"},{"month":"2026-07","outcome":"unclosed"}]}"#,
        ].joined())
    #expect(response.exitCode == .done)
    #expect(DueResponse(lines: [response.lines[0], response.lines[2]]).exitCode == .jobsStillOpen)
    #expect(DueResponse(lines: [response.lines[0], response.lines[3]]).exitCode == .jobsStillOpen)
    #expect(DueResponse(lines: [response.lines[0]]).exitCode == .nothingToDo)
    #expect(DueResponse(lines: []).exitCode == .nothingToDo)
  }
}
