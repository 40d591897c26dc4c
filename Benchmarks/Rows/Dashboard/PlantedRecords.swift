import BenchmarkKit
import PostgreSQL
import Support

/// What there is beside the jobs of a queue that has been used for months, written set-based: clinics, plans, batches
/// with references, reviews, entries of the audit, and the history of two days.
struct PlantedRecords: Sendable {
  let jobs: PlantedJobs

  private static let clinics = 20
  /// A clinic that has a job of the first batch, whatever the size.
  static let clinic = "Clinic 1"
  /// The steps of the queue's history: minutes of two days, and tens of seconds of an hour.
  private static let history = [(seconds: 60, count: 2880), (seconds: 10, count: 360)]

  /// Plants jobs and all the rest into an empty database that has the schema.
  static func plant(_ shape: PlantedJobs.Shape, in database: BenchmarkDatabase) async throws -> PlantedRecords
  {
    // Before the users, who are given to them.
    _ = try await database.pool.query(
      "INSERT INTO analysis.clinic (name) SELECT 'Clinic ' || g FROM generate_series(1, \(clinics)) g")
    let records = PlantedRecords(jobs: try await PlantedJobs.plant(shape, in: database.pool))
    let statements = [plans, submitter, records.batches, records.labels, reviews, records.audit]
    for statement in statements + history.map(steps) {
      _ = try await database.pool.query(
        SQLStatement(statement, [], label: "planting records"), deadline: PlantedJobs.patience)
    }
    // As workers chain the entries, some thousands at a time.
    while try await database.number("SELECT analysis.chain_audit(5000, true)") > 0 {}
    return records
  }

  // MARK: What was planted

  /// How many batches there are, numbered from 1. The first has a hundredth of the jobs. Each other batch has a tenth
  /// of the jobs up to the next batch's first job; the last batches are not done yet. Batches 2 and 3, 6 and 7 and so
  /// on are mixed: their jobs alternate, as those of two runs at the same time.
  var batchCount: Int { max(jobs.jobs / 10_000, 30) }
  /// The jobs of the first batch.
  private var largest: Int { max(jobs.jobs / 100, 10) }
  /// How many jobs there are from the first job of another batch to that of the next.
  private var stride: Int { (jobs.jobs - largest) / (batchCount - 1) }
  /// How many jobs have a label: a batch and a reference.
  var labelCount: Int { largest + (batchCount - 1) * batchSize }
  private var batchSize: Int { max(stride / 10, 1) }
  /// How many entries the audit has.
  var auditCount: Int { max(jobs.jobs / 100, 100) }
  /// The numbers of the users whom its entries name, but for user 0.
  var auditedUsers: ClosedRange<Int> { 1...min(auditCount, jobs.shape.users - 1) }

  /// The number of a batch whose jobs alternate with those of another.
  func randomMixedBatch() -> Int { .random(in: 0...(batchCount - 3) / 4) * 4 + .random(in: 2...3) }

  /// The reference of a job of a batch.
  func reference(inBatch batch: Int) -> String { "visit-\(batch == 1 ? 1 : firstJob(ofBatch: batch))" }

  private func firstJob(ofBatch batch: Int) -> Int {
    batch % 4 == 3 ? firstJob(ofBatch: batch - 1) + 1 : largest + (batch - 2) * stride + 1
  }

  // MARK: The statements

  private static let plans = """
    INSERT INTO analysis.account_plan (shard, user_id, valid_from, plan_id)
    SELECT a.shard, a.user_id, '-infinity', 1 + a.user_id % 2 FROM analysis.account a
    """

  private static let submitter = "INSERT INTO analysis.submitter (id, login) VALUES (1, 'office')"

  private var batches: String {
    """
    INSERT INTO analysis.batch (created_at, submitter, name)
    SELECT now() - (\(batchCount) - b) * interval '1 minute', 1, 'Ward ' || b
    FROM generate_series(1, \(batchCount)) b ORDER BY b
    """
  }

  private var labels: String {
    """
    INSERT INTO analysis.job_label (shard, period, job_id, user_id, batch_id, reference)
    SELECT j.shard, j.period, j.id, j.user_id, l.batch, 'visit-' || j.id
    FROM (
      SELECT 1 AS batch, n FROM generate_series(1, \(largest)) n
      UNION ALL
      SELECT b, CASE b % 4
        WHEN 2 THEN \(largest) + (b - 2) * \(stride) + 2 * n - 1
        WHEN 3 THEN \(largest) + (b - 3) * \(stride) + 2 * n
        ELSE \(largest) + (b - 2) * \(stride) + n END
      FROM generate_series(2, \(batchCount)) b, generate_series(1, \(batchSize)) n) l
    JOIN analysis.job j ON j.id = l.n
    """
  }

  /// Five clinicians have said of each analysis with a condition whether it is right.
  private static let reviews = """
    INSERT INTO analysis.review (shard, period, version, verdict, job_id, user_id, at, reviewer, primary_id, primary_name,
      primary_confidence, primary_band, primary_normal)
    SELECT r.shard, r.period, 1, 1 + (r.job_id / 7 % 10 > 6)::int + (r.job_id / 7 % 10 > 8)::int, r.job_id, r.user_id,
      r.finished_at, 'clinician_' || r.job_id / 3 % 5, r.primary_id, r.primary_name, r.primary_confidence, r.primary_band,
      r.primary_normal
    FROM analysis.result r WHERE r.condition_count > 0
    """

  private var audit: String {
    """
    INSERT INTO analysis.audit_draft (at, role, os_user, host, action, object, reason, detail)
    SELECT now() - (\(auditCount) - n) * interval '1 minute', 'office_' || n % 7, 'person' || n % 40, 'desk',
      (ARRAY['read_result', 'cancel', 'retry', 'report'])[n % 4 + 1], 'job:' || n, 'as asked for',
      jsonb_build_object('shard', 0, 'jobs', jsonb_build_array(n), 'users', jsonb_build_array(n % \(jobs.shape.users)))
    FROM generate_series(1, \(auditCount)) n ORDER BY n
    """
  }

  private static func steps(_ seconds: Int, _ count: Int) -> String {
    """
    INSERT INTO analysis.queue_history (step, at, waiting, in_flight, scheduled, done, dead, retried, rate)
    SELECT \(seconds), date_bin('1 minute', now(), '2000-01-01 00:00:00+00') - n * interval '\(seconds) seconds',
      1000 + n * 7919 % 500, n % 64, n % 10, \(seconds) * (10 + n % 30), n % 3, n % 5, 10 + n % 30
    FROM generate_series(0, \(count) - 1) n
    """
  }
}
