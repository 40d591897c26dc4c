import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue
@testable import Support

@Suite("Columns of a list of jobs")
struct JobColumnTests {
  private func failed(_ id: Int64, user: String = "u1", code: String? = nil) throws -> FailedJob {
    FailedJob(
      summary: JobSummary(
        id: JobID(id), shard: 0, user: user, kind: .throat, lane: Lane(.throat, .urgent), state: .dead,
        period: try Fixed.month(), createdAt: Fixed.moment, runAt: nil, expiresAt: nil,
        finishedAt: Fixed.moment + 2, attempts: 3, sourceName: "photo.jpg"),
      failureClass: "permanent", code: code, status: nil, message: "HTTP 400", worker: 77, workerName: "w1 42"
    )
  }

  private func page(_ jobs: [FailedJob]) -> FailedJobPage {
    FailedJobPage(
      jobs: jobs, next: TimeCursor(at: 1_700_000_000.000_001, job: JobID(5)), isCutShort: false)
  }

  @Test("of failed jobs: number, user, cause, end and worker")
  func failed() throws {
    let response = FailedJobsResponse(
      page: page([try failed(12, code: "INVALID_IMAGE_FORMAT")]), columns: JobColumn.ofFailed)
    #expect(
      Fixed.text(response) == """
        JOB  USER  CAUSE                           ENDED                 WORKER
         12  u1    permanent INVALID_IMAGE_FORMAT  2026-10-01 00:00:02Z  w1 42

        """)
    #expect(
      Fixed.json(response).hasSuffix(
        #""class":"permanent","code":"INVALID_IMAGE_FORMAT","status":null,"message":"HTTP 400","worker":"77","#
          + #""worker_name":"w1 42"}],"next":"1700000000000001/5","cut_short":false}"#))
  }

  @Test("as they are named, in their order")
  func named() throws {
    let response = FailedJobsResponse(page: page([try failed(12)]), columns: [.worker, .job])
    #expect(Fixed.text(response) == "WORKER  JOB\nw1 42    12\n")
  }

  @Test("fit into 80: the file and the month are left out before more of the user is cut, never the number")
  func narrow() throws {
    let job = try failed(1_234_567_890, user: "patient-0123456789").summary
    let response = JobsListResponse(
      page: JobListPage(jobs: [job], next: nil, isCutShort: false), columns: JobColumn.usual)
    let lines = Fixed.text(response, width: 80).split(separator: "\n")
    #expect(lines.allSatisfy { $0.count <= 80 })
    #expect(lines[0].hasSuffix("SUBMITTED             ATTEMPTS"))
    #expect(lines[1].hasPrefix("1234567890  patient"))
    #expect(lines.last == "Left out, for the terminal is too narrow: MONTH, FILE.")
    #expect(Fixed.text(response).contains("photo.jpg"))
  }

  @Test("a place in a list is read as it is written", arguments: ["2026-10/5", "1700000000000001/123"])
  func place(text: String) throws {
    #expect(try #require(ListPlace(text)).text == text)
  }

  @Test(
    "what is no place is none",
    arguments: ["5", "2026-13/5", "1/2/3", "17/5", "x/5", "1700000000000001/x"])
  func noPlace(text: String) {
    #expect(ListPlace(text) == nil)
  }
}
