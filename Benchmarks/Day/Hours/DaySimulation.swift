/// A day, minute by minute, and after it the time until all its jobs are done.
///
/// Submits go first: they are what the back-ends wait for, and what they leave of a resource is the workers'. Jobs are
/// done in the order of their arrival. Within a minute nothing waits: jobs that a minute can carry are done in it.
public struct DaySimulation: Sendable, Equatable {
  static let secondsOfMinute = 60.0
  /// A backlog that has not cleared so many minutes after the day, a week, is taken never to clear.
  private static let patience = 7 * Arrivals.minutesOfDay

  /// The day's minutes, and those after it until the last job is done.
  public let minutes: [DayMinute]
  /// How many minutes after the day's beginning the last job is done; nil when it is not within a week after the day.
  public let cleared: Int?
  /// Jobs a second that are done in the hardest minute.
  public let hardestRate: Double
  /// Workers that the hardest minute needs.
  public let workers: Int
  /// Bytes of images that have been stored by the end.
  public let imageBytes: Double

  /// Runs the day.
  public init(_ arrivals: Arrivals, costs: JobCosts, machine: Machine, fleet: WorkerFleet) {
    let walls = Walls(costs, machine, fleet)
    var line = Line()
    var minutes: [DayMinute] = []
    while minutes.count < arrivals.jobs.count
      || (line.open > 0 && minutes.count < arrivals.jobs.count + Self.patience)
    {
      let arrived = minutes.count < arrivals.jobs.count ? arrivals.jobs[minutes.count] : 0
      minutes.append(line.step(arrived, walls, costs))
    }
    self.minutes = minutes
    cleared = line.open == 0 ? (minutes.lastIndex { $0.done > 0 } ?? -1) + 1 : nil
    hardestRate = Double(minutes.map(\.done).max() ?? 0) / Self.secondsOfMinute
    workers = fleet.needed(for: hardestRate, costs)
    imageBytes = Double(minutes.reduce(0) { $0 + $1.submitted }) * costs.imageBytes
  }

  /// The minutes by the hour.
  public var hours: [DayHour] {
    stride(from: 0, to: minutes.count, by: 60).map { start in
      DayHour(hour: start / 60, minutes[start..<min(start + 60, minutes.count)])
    }
  }

  /// Jobs that were not done at the worst moment.
  public var worstBacklog: Int { minutes.map { $0.backlog + $0.outside }.max() ?? 0 }

  /// The longest that a job at the head of the line had waited, in minutes.
  public var longestWaitMinutes: Int { minutes.map(\.headWait).max() ?? 0 }

  /// The jobs that are not done yet.
  private struct Line {
    private var minute = 0
    private var outside = 0
    private var backlog = 0
    /// Jobs that are not done, by the minute in which they came.
    private var cohorts: [(minute: Int, jobs: Int)] = []
    /// The first cohort that is not wholly done.
    private var head = 0

    var open: Int { outside + backlog }

    mutating func step(_ arrived: Int, _ walls: Walls, _ costs: JobCosts) -> DayMinute {
      cohorts.append((minute, arrived))
      outside += arrived
      let submitted = walls.submittable(outside, seconds: secondsOfMinute)
      outside -= submitted
      backlog += submitted
      let done = walls.workable(backlog, submitted: submitted, seconds: secondsOfMinute)
      backlog -= done
      settle(done)
      defer { minute += 1 }
      return DayMinute(
        arrived: arrived, submitted: submitted, done: done, outside: outside, backlog: backlog,
        headWait: head < cohorts.count ? minute - cohorts[head].minute : 0,
        use: walls.use(submitted: submitted, done: done, seconds: secondsOfMinute),
        logBytes: costs.submit.logBytes * Double(submitted) + costs.work.logBytes * Double(done))
    }

    /// Takes done jobs from the head of the line.
    private mutating func settle(_ done: Int) {
      var left = done
      while head < cohorts.count, left >= cohorts[head].jobs {
        left -= cohorts[head].jobs
        head += 1
      }
      if left > 0, head < cohorts.count { cohorts[head].jobs -= left }
    }
  }
}
