import PostgreSQL
import QueueTestSupport

@testable import Control
@testable import Queue
@testable import Support

/// What is audited, as a client of the queue does it.
enum AuditedAction: String, CaseIterable {
  case cancel, retry, addUser, addClinic, plan, zone, period, limit, setting, pause, resume
  case result, review, report, export, erasure, close
  case rotate, removeKey, move
  case workerStart, workerStop

  /// Does it once, as somebody; before it nothing is recorded.
  ///
  /// - Returns: the action and the object that the entry has to name.
  func perform(_ queue: QueueFixture, as actor: AuditActor) async throws -> (action: String, object: String) {
    let (pool, jobs, log) = (queue.pool, JobDirectory(queue.pool), AuditLog(queue.pool))
    switch self {
    case .cancel:
      let job = try await queue.create([Ask("user")])[0]
      _ = try await jobs.change([JobID(job)], .cancel, by: actor)
      return ("cancel", "job:\(job)")
    case .retry:
      let job = try await queue.deadJob("user")
      _ = try await jobs.change([JobID(job)], .retry, by: actor)
      return ("retry", "job:\(job)")
    case .addUser:
      let added = try await UserDirectory(pool).add(NewUser(reference: "new", plan: "free"), by: actor)
      return ("add_user", "user:\(added.userID)")
    case .addClinic:
      _ = try await ClinicDirectory(pool).add("north", by: actor)
      return ("add_clinic", "clinic:\(try await queue.number("SELECT id FROM analysis.clinic"))")
    case .plan:
      try await UserDirectory(pool).setPlan("user", plan: "free", by: actor)
      return ("set_plan", "user:\(try await queue.number("SELECT user_id FROM analysis.account"))")
    case .zone:
      try await UserDirectory(pool).setZone("user", zone: "Asia/Jakarta", by: actor)
      return ("set_zone", "user:\(try await queue.number("SELECT user_id FROM analysis.account"))")
    case .period:
      _ = try await UserDirectory(pool).setPeriod("user", anchor: 15, by: actor)
      return ("set_period", "user:\(try await queue.number("SELECT user_id FROM analysis.account"))")
    case .limit:
      try await PlanDirectory(pool).setLimit(plan: "free", limit: 7, by: actor)
      return ("set_limit", "plan:free")
    case .setting:
      _ = try await SettingDirectory(pool).set("keep_images", value: "90 days", before: "30 days", by: actor)
      return ("set_setting", "setting:keep_images")
    case .pause:
      _ = try await PauseDirectory(pool).pause(.kind(.ear), reason: actor.reason, until: nil, by: actor)
      return ("pause", "type:ear")
    case .resume:
      try await queue.execute("INSERT INTO analysis.pause (scope, name) VALUES ('all', '')")
      _ = try await PauseDirectory(pool).resume(.everything, by: actor)
      return ("resume", "everything")
    case .result:
      let job = try await queue.create([Ask("user")])[0]
      _ = try await queue.complete(try await queue.claim())
      _ = try await jobs.show(JobID(job), by: actor)
      return ("read_result", "job:\(job)")
    case .review:
      let job = try await queue.create([Ask("user")])[0]
      _ = try await queue.complete(try await queue.claim())
      _ = try await ReviewDirectory(pool).add(.agree, comment: "Clear.", to: JobID(job), by: actor)
      return ("review", "job:\(job)")
    case .rotate:
      _ = try await queue.create([Ask("user")])
      try await queue.execute(
        """

        UPDATE analysis.image SET encrypted_by = 5, wrapped_key = decode(repeat('07', 72), 'hex'), byte_count = 41,
          bytes = decode(repeat('01', 41), 'hex')
        """)
      let directory = ImageKeyDirectory(pool)
      for location in try await directory.locations() {
        let found = try await directory.images(notUnder: 77, in: location, after: 0, count: 10)
        _ = try await directory.rewrap(
          found.map { (record: $0, storedKey: $0.storedKey) }, under: 77, in: location, by: actor)
      }
      return ("rotate_keys", "key:000000000000004d")
    case .move:
      _ = try await queue.create([Ask("user")])
      let move = Statement(
        SQLFunction("move_images", 5),
        [
          .int16(0), .int16(Int16(try await queue.number("SELECT period FROM analysis.image"))),
          .array([Int64(try await queue.number("SELECT id FROM analysis.image"))]), .array(["key"]),
          .nullArray(of: [UInt8].self),
        ], as: Int.self, while: "moving an image")
      _ = try await move.run(on: pool, as: actor)
      return ("move_images", "store:s3")
    case .removeKey:
      try await log.record(removing: 77, by: actor) {}
      return ("remove_key", "key:000000000000004d")
    case .report:
      let open = SQLStatement("SELECT analysis.open_analyses(24321::smallint, NULL)")
      for answer in try await pool.pipeline([actor.statement, open], atomic: true) { _ = try answer.get() }
      return ("report", "report:analyses:2026-10")
    case .close:
      guard let month = Period("2025-01") else { preconditionFailure("2025-01 is a month") }
      _ = try await MonthDirectory(pool).close(month, by: actor)
      return ("close_month", "month:2025-01")
    case .export:
      _ = try await PersonExport(of: "user", in: pool, as: actor)
      return ("export", "user:\(try await queue.number("SELECT user_id FROM analysis.account"))")
    case .erasure:
      _ = try await PersonEraser(pool).erase(.reference("user"), cancelling: false, as: actor)
      return ("erase", "user:\(try await queue.number("SELECT user_id FROM analysis.account"))")
    case .workerStart, .workerStop:
      let worker = queue.statements.worker
      let number = try await WorkerStatements.number(of: worker).run(on: pool)
      let statement =
        self == .workerStart
        ? WorkerStatements.recordStart(of: worker, kinds: [.throat])
        : WorkerStatements.recordStop(of: worker)
      try await statement.run(on: pool, as: actor)
      return (self == .workerStart ? "worker_start" : "worker_stop", "worker:\(number)")
    }
  }
}
