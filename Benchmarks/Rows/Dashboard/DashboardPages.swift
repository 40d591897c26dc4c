import BenchmarkKit
import Support

/// The pages that are asked for. Each page and its path, which differs from call to call.
struct DashboardPages: Sendable {
  /// A page.
  struct Page: Sendable {
    let name: String
    /// Whether the page exists in an empty database.
    var isOfEmpty = true
    /// Whether a login sees it that is restricted to one clinic.
    var isOfClinic = false
    let path: @Sendable () -> String
  }

  let records: PlantedRecords

  private var jobs: PlantedJobs { records.jobs }
  private var shape: PlantedJobs.Shape { records.jobs.shape }

  /// Every page.
  var all: [Page] { overview + lists + found + single + others }

  private var overview: [Page] { [Page(name: "overview") { "/" }] }

  private var lists: [Page] {
    let states = JobState.allCases.map { state in
      Page(name: "jobs, \(state.rawValue)") { "/jobs?state=\(state.rawValue)" }
    }
    return [
      Page(name: "jobs") { "/jobs" },
      Page(name: "jobs, at random places") { [jobs, shape] in
        let place = Int.random(in: 0..<jobs.months.count)
        return "/jobs?after=\(jobs.months[place])/\(Int.random(in: shape.numbers(ofMonth: place)))"
      },
      Page(name: "jobs of a user") { [shape] in "/jobs?user=user-\(Int.random(in: 1..<shape.users))" },
      Page(name: "jobs of a large user") { "/jobs?user=user-0" },
      Page(name: "jobs of a large user, dead") { "/jobs?user=user-0&state=dead" },
      Page(name: "jobs of a month") { [jobs] in "/jobs?month=\(jobs.months[0])" },
      Page(name: "jobs, throat") { "/jobs?type=throat" },
      Page(name: "jobs, ear, of which there are none") { "/jobs?type=ear" },
    ] + states
  }

  /// Lists that are filtered by batch, reference or cause.
  private var found: [Page] {
    let batch: @Sendable () -> Int = { [records] in .random(in: 2...records.batchCount) }
    return [
      Page(name: "jobs of a batch") { "/jobs?batch=B\(batch())" },
      Page(name: "jobs of the largest batch, dead") { "/jobs?batch=B1&state=dead" },
      Page(name: "jobs with a reference") { [records] in
        "/jobs?reference=\(records.reference(inBatch: batch()))"
      },
      Page(name: "jobs of a cause") { "/jobs?cause=server%20500" },
      Page(name: "jobs of a rare cause") { "/jobs?cause=redirect" },
    ]
  }

  private var single: [Page] {
    [
      // Such a number is neither that of a dead job nor of one that was cancelled or runs.
      Page(name: "a finished job", isOfEmpty: false) { [shape] in
        "/jobs/\(Int.random(in: 1...(shape.begun / 10)) * 10)"
      },
      Page(name: "a dead job", isOfEmpty: false) { [shape] in
        "/jobs/\(shape.dead(.random(in: 0..<shape.deadCount)))"
      },
      Page(name: "a waiting job", isOfEmpty: false) { [shape] in
        "/jobs/\(shape.begun + .random(in: 1...shape.waiting))"
      },
    ]
  }

  private var others: [Page] {
    let batches = records.batchCount
    return [
      Page(name: "failures") { "/failures" },
      Page(name: "batches") { "/batches" },
      Page(name: "batches, at random places") { "/batches?before=B\(Int.random(in: 22...batches))" },
      Page(name: "a batch", isOfEmpty: false) { "/batches/B\(Int.random(in: 2...batches))" },
      Page(name: "a batch mixed with another", isOfEmpty: false) { [records] in
        "/batches/B\(records.randomMixedBatch())"
      },
      Page(name: "the largest batch", isOfEmpty: false) { "/batches/B1" },
      Page(name: "batches, for a clinic", isOfEmpty: false, isOfClinic: true) { "/batches" },
      Page(name: "batches at random places, for a clinic", isOfEmpty: false, isOfClinic: true) {
        "/batches?before=B\(Int.random(in: 22...batches))"
      },
      Page(name: "the largest batch, for a clinic", isOfEmpty: false, isOfClinic: true) { "/batches/B1" },
      Page(name: "workers") { "/workers" },
      Page(name: "reviews") { "/reviews" },
      Page(name: "reviews, for a clinic", isOfEmpty: false, isOfClinic: true) { "/reviews" },
      Page(name: "usage") { "/usage" },
      Page(name: "usage, at random places") { [shape] in
        "/usage?after=user-\(Int.random(in: 1..<shape.users))"
      },
      Page(name: "audit") { "/audit" },
      // Where there is no such user the page says that.
      Page(name: "audit of a user", isOfEmpty: false) { [records] in
        "/audit?user=user-\(Int.random(in: records.auditedUsers))"
      },
      Page(name: "audit of an action") { "/audit?action=retry" },
      Page(name: "audit of a job") { [records] in
        "/audit?object=job:\(Int.random(in: 1...records.auditCount))"
      },
      Page(name: "audit by a login") { "/audit?by=office_3" },
    ]
  }

  /// The lists of the command line, by the arguments of `analysisctl`.
  var commands: [(name: String, arguments: @Sendable () -> [String])] {
    [
      ("status", { ["status"] }),
      ("jobs list", { ["jobs", "list"] }),
      ("jobs list --failed", { ["jobs", "list", "--failed"] }),
      ("jobs list --failed --cause", { ["jobs", "list", "--failed", "--cause", "server 500"] }),
      (
        "jobs list --user",
        { [shape] in ["jobs", "list", "--user", "user-\(Int.random(in: 1..<shape.users))"] }
      ),
      ("jobs list --state waiting", { ["jobs", "list", "--state", "waiting"] }),
      (
        "jobs list --batch",
        { [records] in ["jobs", "list", "--batch", "B\(Int.random(in: 2...records.batchCount))"] }
      ),
      ("batches list", { ["batches", "list"] }),
      ("users list", { ["users", "list"] }),
      ("clinics list", { ["clinics", "list"] }),
      ("reviews list", { ["reviews", "list"] }),
      (
        "share list",
        { [shape] in ["share", "list", "--user", "user-\(Int.random(in: 1..<shape.users))"] }
      ),
      ("plans list", { ["plans", "list"] }),
      ("webhooks list", { ["webhooks", "list"] }),
      ("settings list", { ["settings", "list"] }),
      ("audit list", { ["audit", "list"] }),
      ("report usage, every user's row", { ["report", "usage"] }),
    ]
  }
}
