import CommandLineTool
public import PostgreSQL
public import Queue
public import Support

enum ReconcileCommand {
  static let month = Option<MonthChoice?>(
    "month", .monthChoice, help: "Only this month: YYYY-MM, current or previous; every month unless given.")

  static let images = Flag(
    "images", help: "Compare the images of every month with their objects in the image store, too.")

  static let command = ControlCommand(
    "reconcile", abstract: "Recount everybody's use from the jobs themselves.",
    discussion: """
      Every counter must be the analyses of the user's month, the jobs that are still open, and the refunds that \
      are not settled. Every job must have ended, or wait, be scheduled or run. A difference and a job that is \
      lost are listed, and the exit code is 1.

      With --images every image that is in an object store must have its object, as long as it was. That reads the \
      store's whole list.
      """,
    examples: [
      Example("analysisctl reconcile", "Every month."),
      Example("analysisctl reconcile --month previous", "Before the bills go out."),
      Example("analysisctl reconcile --images --image-store store.conf", "After a backup was restored."),
    ],
    inputs: [month, images, SharedOptions.imageStore],
    exitCodes: [.done, .jobFailed, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let choice = try context[month]
    let isWithImages = try context[images]
    return try await context.withSession { session in
      let month = try await choice?.period(session.database)
      // Each reads on a connection of its own: the server works on both at once.
      async let lost = Reconciliation.lostJobs(session.database, month: month)
      var response = ReconcileResponse(
        month: month, differences: try await Reconciliation.run(session.database, month: month),
        lost: try await lost)
      if isWithImages {
        response.images = try await ImageStoreOption.with(session) { store in
          guard let store else { throw ImageStoreOption.missing }
          return try await store.compare(session.database)
        }
      }
      try session.view.show(response)
      return response.isSound ? .done : .jobFailed
    }
  }
}

/// Where counters and jobs disagree, and which jobs are lost.
struct ReconcileResponse: Sendable, Equatable, Presentable {
  /// Nil for every month.
  let month: Period?
  let differences: [UsageDifference]
  let lost: LostJobs
  /// How images and their objects agree; nil where that was not asked for.
  var images: ImageStore.Comparison?

  var isSound: Bool { differences.isEmpty && lost.count == 0 && images?.isSound != false }

  var json: JSONValue {
    [
      "month": .month(month), "agrees": .bool(isSound),
      "differences": .array(
        differences.map { difference in
          [
            "user": .string(difference.user), "shard": .count(difference.shard),
            "month": .month(difference.period), "used": .count(difference.used),
            "pending_refunds": .count(difference.pendingRefunds), "analysed": .count(difference.analysed),
            "open": .count(difference.open), "difference": .count(difference.difference),
          ]
        }),
      "lost": .count(lost.count),
      "lost_jobs": .array(
        lost.first.map { job in
          [
            "job": .id(job.id), "user": .string(job.user), "shard": .count(job.shard),
            "month": .month(job.period), "created_at": .time(job.createdAt),
          ]
        }),
      "images": images.map(Self.json) ?? .null,
    ]
  }

  private static func json(_ images: ImageStore.Comparison) -> JSONValue {
    [
      "objects": .count(images.objects), "missing": .count(images.missing), "changed": .count(images.changed),
      "unnamed": .count(images.unnamed),
      "first": .array(
        images.first.map { trouble in
          [
            "image": .string("\(trouble.image)"), "month": .month(trouble.period),
            "trouble": .string(Self.word(trouble)),
          ]
        }),
    ]
  }

  private static func word(_ trouble: ImageStore.Comparison.Trouble) -> String {
    trouble.isMissing ? "missing" : "changed"
  }

  func text(width: Int?, paint: Paint) -> String {
    let scope = month.map { "of \($0)" } ?? "of every month"
    return differences(differences, scope, width, paint) + lost(lost, width, paint)
      + (images.map { compared($0, width, paint) } ?? "")
  }

  private func compared(_ images: ImageStore.Comparison, _ width: Int?, _ paint: Paint) -> String {
    let unnamed =
      images.unnamed == 0
      ? "" : "\(images.unnamed) objects are of no image: purge removes them, after a day.\n"
    guard !images.isSound else {
      return "Every image has its object (\(images.objects) objects).\n" + unnamed
    }
    let table = images.first.table([
      .init("IMAGE", alignment: .right) { Cell("\($0.image)", .red) },
      .init("MONTH") { Cell($0.period.description) },
      .init("OBJECT") { Cell(Self.word($0)) },
    ])
    let count = images.missing + images.changed
    return """
      \(images.missing) images have no object in the image store, \(images.changed) have one of another length\
      \(count > images.first.count ? ".\nThe first \(images.first.count)" : ""):
      \(table.render(width: width, paint: paint))\
      Their jobs end with image_missing or image_tampered. Bring the objects back, or submit the pictures again.
      \(unnamed)
      """
  }

  private func differences(
    _ differences: [UsageDifference], _ scope: String, _ width: Int?, _ paint: Paint
  ) -> String {
    guard !differences.isEmpty else { return "The counters \(scope) agree with the jobs.\n" }
    let table = differences.table([
      .init("USER", wraps: true) { Cell($0.user) },
      .init("MONTH") { Cell($0.period.description) },
      .init("COUNTER", alignment: .right) { Cell($0.used) },
      .init("REFUNDS", alignment: .right) { Cell($0.pendingRefunds) },
      .init("ANALYSED", alignment: .right) { Cell($0.analysed) },
      .init("OPEN", alignment: .right) { Cell($0.open) },
      .init("DIFFERENCE", alignment: .right) { Cell($0.difference, .red) },
    ])
    return "The counters \(scope) do not agree with the jobs:\n" + table.render(width: width, paint: paint)
  }
  private func lost(_ lost: LostJobs, _ width: Int?, _ paint: Paint) -> String {
    guard let first = lost.first.first else { return "" }
    let table = lost.first.table([
      .init("JOB", alignment: .right) { Cell($0.id.description, .red) },
      .init("USER", shrinks: true) { Cell($0.user) },
      .init("MONTH") { Cell($0.period.description) },
      .init("SUBMITTED") { Cell(Moment.short($0.createdAt)) },
    ])
    let named = lost.count > lost.first.count ? ".\nThe first \(lost.first.count)" : ""
    return """
      \(lost.count == 1 ? "1 job is" : "\(lost.count) jobs are") in no table of the queue, and no worker will find \
      \(lost.count == 1 ? "this job" : "these jobs")\(named):
      \(table.render(width: width, paint: paint))\
      Cancel what is lost, which gives the units back, and submit the pictures again:
      analysisctl jobs cancel \(first.id)\(lost.count > 1 ? " ..." : "")

      """
  }
}

/// A user whose counter differs from what their jobs say.
public struct UsageDifference: Sendable, Equatable, RenamedColumns {
  /// They are the pending ones there.
  public static let columns = ["pendingRefunds": "pending"]

  /// The user; `#` and the number when the user is gone.
  public let user: String
  /// The shard.
  public let shard: Int16
  /// The month.
  public let period: Period
  /// The counter.
  public let used: Int
  /// Units of the counter whose refund is pending.
  public let pendingRefunds: Int
  /// Jobs that were analysed.
  public let analysed: Int
  /// Jobs that are not finished.
  public let open: Int

  /// By how much the counter is too high; negative when it is too low.
  var difference: Int { used - pendingRefunds - analysed - open }
}

/// A job that is in no table of the queue: not ended, not waiting, not scheduled and not running. No worker finds it.
struct LostJob: Sendable, Equatable, RenamedColumns {
  static let columns = ["id": "job"]

  let id: JobID
  let user: String
  let shard: Int16
  let period: Period
  /// When it was submitted, in seconds since 1970.
  let createdAt: Double
}

/// The jobs that are lost.
struct LostJobs: Sendable, Equatable {
  /// How many there are.
  var count = 0
  /// The first of them, by month and number.
  var first: [LostJob] = []
}

/// Recounts usage from the jobs themselves, and looks for those that are lost.
public enum Reconciliation {
  /// Compares the counters with the jobs, and answers every difference; none means that they agree.
  ///
  /// It reads all jobs of a month, each shard and month in one statement and so in one snapshot.
  ///
  /// - Parameters:
  ///   - month: the month; nil for all.
  ///   - deadline: how long each statement may take.
  public static func run(
    _ database: ConnectionPool, month: Period? = nil, deadline: Duration = .seconds(600)
  ) async throws(JobQueueError) -> [UsageDifference] {
    var differences: [UsageDifference] = []
    for (shard, period) in try await locations(database, month) {
      differences += try await statement(shard, period).run(on: database, deadline: deadline)
    }
    return differences
  }

  /// Looks for jobs that are lost.
  ///
  /// It reads all jobs of a month, each shard and month in one statement and so in one snapshot.
  ///
  /// - Parameters:
  ///   - month: the month; nil for all.
  ///   - limit: how many are named of each shard and month.
  ///   - deadline: how long each statement may take.
  static func lostJobs(
    _ database: ConnectionPool, month: Period? = nil, limit: Int = 1000, deadline: Duration = .seconds(600)
  ) async throws(JobQueueError) -> LostJobs {
    var lost = LostJobs()
    for (shard, period) in try await locations(database, month) {
      let part = try await Statement(
        SQLFunction("lost_jobs", 3), [.int16(shard), .int16(period.label), .int32(Int32(clamping: limit))],
        as: [Lost].self, beside: ["shard": shard, "period": period],
        while: "looking for lost jobs of \(period)"
      ).run(on: database, deadline: deadline)
      lost.count += part.first?.count ?? 0
      lost.first += part.map(\.lost)
    }
    return lost
  }

  /// A lost job, and how many there are of its shard and month.
  private struct Lost: Decodable {
    let lost: LostJob
    let count: Int
  }

  /// The shards and months to read, the oldest month first.
  private static func locations(
    _ database: ConnectionPool, _ month: Period?
  ) async throws(JobQueueError) -> [(Int16, Period)] {
    let months = try await Statement(
      SQLFunction("months", 0), as: [Period].self, while: "reading the months of the queue"
    ).run(on: database)
    let shards = try await ShardDirectory(database).shards()
    return months.reversed().filter { month == nil || month == $0 }.flatMap { period in
      shards.map { ($0, period) }
    }
  }

  private static func statement(_ shard: Int16, _ period: Period) -> Statement<[UsageDifference]> {
    Statement(
      SQLFunction("usage_differences", 2), [.int16(shard), .int16(period.label)],
      as: [UsageDifference].self, beside: ["shard": shard, "period": period], while: "recounting \(period)")
  }
}
