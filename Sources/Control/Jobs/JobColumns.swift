import CommandLineTool
import Support

/// A column of a list of jobs.
enum JobColumn: String, CaseIterable, Sendable {
  case job, user, lane, state, month, submitted, attempts, file, ended, cause, worker

  /// Those of a list of jobs, when none are named.
  static let usual: [JobColumn] = [.job, .user, .lane, .state, .month, .submitted, .attempts, .file]
  /// Those of a list of failed jobs, when none are named.
  static let ofFailed: [JobColumn] = [.job, .user, .cause, .ended, .worker]
  /// Those that only a list of failed jobs has.
  static let onlyOfFailed: Set<JobColumn> = [.cause, .worker]

  /// How it stands in the table. What names the row is never cut; what is least missed is left out first where the
  /// terminal is too narrow.
  var column: Table.Column {
    switch self {
    case .job, .attempts: .init(rawValue.uppercased(), alignment: .right)
    case .month: .init(rawValue.uppercased(), mayGo: true)
    case .file: .init(rawValue.uppercased(), shrinks: true, mayGo: true)
    case .user: .init(rawValue.uppercased(), wraps: true)
    case .cause, .worker: .init(rawValue.uppercased(), shrinks: true)
    default: .init(rawValue.uppercased())
    }
  }

  /// Its cell for a job.
  func cell(_ job: JobSummary, _ failure: FailedJob? = nil) -> Cell {
    switch self {
    case .job: Cell(job.id.description)
    case .user: Cell(job.user)
    case .lane: Cell(job.lane.description)
    case .state: Cell(job.state.rawValue, job.state.colour)
    case .month: Cell(job.period.description)
    case .submitted: Cell(Moment.short(job.createdAt))
    case .attempts: Cell(job.attempts)
    case .file: Cell(job.sourceName ?? "")
    case .ended: Cell(Moment.short(job.finishedAt))
    case .cause: Cell(failure?.cause.description ?? "")
    case .worker: Cell(failure?.workerName ?? failure?.worker.map { String($0) } ?? "")
    }
  }

  /// The columns of some jobs as a table.
  static func table(_ columns: [JobColumn], _ jobs: [(JobSummary, FailedJob?)]) -> Table {
    var table = Table(columns.map(\.column))
    for (job, failure) in jobs { table.add(columns.map { $0.cell(job, failure) }) }
    return table
  }
}

extension ValueFormat where Value == [JobColumn] {
  /// `job,user,cause`: names with commas between them.
  static var jobColumns: Self {
    let names = JobColumn.allCases.map(\.rawValue).joined(separator: ", ")
    return ValueFormat(
      name: "COLUMNS",
      parse: { (given: String) throws(ValueError) -> [JobColumn] in
        var columns: [JobColumn] = []
        for name in given.split(separator: ",", omittingEmptySubsequences: false) {
          guard let column = JobColumn(rawValue: String(name)), !columns.contains(column) else {
            throw ValueError("is no list of different columns of: \(names)")
          }
          columns.append(column)
        }
        return columns
      },
      text: { $0.map(\.rawValue).joined(separator: ",") })
  }
}

/// A page of jobs as it was asked for.
struct JobsListResponse: Sendable, Equatable, Presentable {
  let page: JobListPage
  let columns: [JobColumn]

  var json: JSONValue {
    [
      "jobs": .array(page.jobs.map(\.json)),
      "next": .text(page.next.map { ListPlace.number($0).text }),
      "cut_short": .bool(page.isCutShort),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !page.jobs.isEmpty else { return page.isCutShort ? "No jobs so far.\n" : "No jobs.\n" }
    return JobColumn.table(columns, page.jobs.map { ($0, nil) }).render(width: width, paint: paint)
  }
}

/// A page of failed jobs as it was asked for.
struct FailedJobsResponse: Sendable, Equatable, Presentable {
  let page: FailedJobPage
  let columns: [JobColumn]

  var json: JSONValue {
    [
      "jobs": .array(page.jobs.map(\.json)),
      "next": .text(page.next.map { ListPlace.time($0).text }),
      "cut_short": .bool(page.isCutShort),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !page.jobs.isEmpty else { return page.isCutShort ? "No jobs so far.\n" : "No jobs.\n" }
    return JobColumn.table(columns, page.jobs.map { ($0.summary, $0) }).render(width: width, paint: paint)
  }
}

extension FailedJob {
  fileprivate var json: JSONValue {
    guard case .object(let members) = summary.json else { return .null }
    let more: JSONValue = [
      "class": .string(failureClass), "code": .text(code), "status": .count(status),
      "message": .string(message), "worker": .text(worker.map { String($0) }),
      "worker_name": .text(workerName),
    ]
    guard case .object(let others) = more else { return .null }
    return .object(members + others)
  }
}
