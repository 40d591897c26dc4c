import Foundation
import Images
import PostgreSQL
import Support
import TestSupport

/// A month that is over: some users had jobs in it, and it is closed before the faults begin. Its dead jobs are
/// retried during the run, and its statement must not change by that.
struct PastMonth: Sendable {
  let period: Period
  let records: [SubmitRecord]
  /// The calls that its attempts tell of.
  let calls: [EndpointCall]

  private static let users = ["clinic-1", "clinic-2", "clinic-3", "clinic-5", "clinic-8"]

  /// Writes the month's rows, three jobs for each of the users: one analysed, one cancelled, one dead.
  static func plant(in database: ConnectionPool, _ picture: Picture) async throws -> PastMonth {
    let label = try await database.query("SELECT analysis.period_of(now(), 'UTC') - 2").single().int32(0)
    guard let period = Period(label: Int16(label)) else { throw TestSupportError("\(label) is no month") }
    _ = try await database.query("SELECT analysis.ensure_partitions($1, $1)", [.int16(period.label)])
    let rows = try await database.query(
      SQLStatement(
        sql,
        [
          .int16(period.label), .array(users), .bytes(picture.clean.bytes), .bytes(picture.clean.sha256),
          .int32(Int32(picture.clean.width)), .int32(Int32(picture.clean.height)),
        ], label: "planting a past month"))
    var records: [SubmitRecord] = []
    var calls: [EndpointCall] = []
    for row in rows {
      let (shard, id, what) = (try row.int16(0), JobID(try row.int64(1)), try row.string(3))
      records.append(
        SubmitRecord(
          tag: "past-\(what)-\(try row.string(2))", user: try row.string(2), key: nil, outcome: .created(id)))
      if what == "analysed" {
        calls.append(
          EndpointCall(key: "\(EndpointCall.planted)-\(shard)-\(id)", status: 200, outcome: "analysis"))
      }
      if what == "dead" {
        calls.append(EndpointCall(key: "\(EndpointCall.planted)-\(shard)-\(id)", status: 400, outcome: "400"))
      }
    }
    return PastMonth(period: period, records: records, calls: calls)
  }

  private static let sql = """
    WITH people AS (
      UPDATE analysis.account SET created_at = now() - interval '120 days'
      WHERE user_ref = ANY ($2) RETURNING shard, user_id, user_ref),
    pictures AS (
      INSERT INTO analysis.image (shard, period, unsanitized, user_id, created_at, used_at, byte_count, width, height, sha256, bytes)
      SELECT shard, $1, false, user_id, now() - interval '61 days', now() - interval '61 days', octet_length($3), $5, $6, $4, $3
      FROM people RETURNING shard, user_id, id, byte_count),
    jobs AS (
      INSERT INTO analysis.job (shard, period, kind, lane, user_id, image_id, vt, created_at, image_bytes, image_period,
        max_attempts, image_unsanitized, image_mark, closed, source_name)
      SELECT p.shard, $1, 1, 5, p.user_id, i.id, 0, now() - interval '61 days', i.byte_count, $1, 10, false,
        substr($4, 1, 16), w.what = 'cancelled', 'past-' || w.what || '-' || p.user_ref
      FROM people p JOIN pictures i USING (shard, user_id)
      CROSS JOIN unnest(ARRAY['analysed', 'cancelled', 'dead']) w(what)
      RETURNING shard, user_id, id, split_part(source_name, '-', 2) AS what),
    results AS (
      INSERT INTO analysis.result (shard, period, kind, outcome, job_id, user_id, finished_at, attempt, calls,
        condition_count, analysis_id, conditions)
      SELECT shard, $1, 1, CASE what WHEN 'analysed' THEN 1 ELSE 2 END, id, user_id, now() - interval '60 days',
        (what = 'analysed')::int, (what = 'analysed')::int, CASE what WHEN 'analysed' THEN 0 END,
        CASE what WHEN 'analysed' THEN 'planted' END, CASE what WHEN 'analysed' THEN '[]'::jsonb END
      FROM jobs WHERE what <> 'dead'),
    deaths AS (
      INSERT INTO analysis.dead (shard, period, kind, attempts, job_id, user_id, failed_at, calls, class, message)
      SELECT shard, $1, 1, 1, id, user_id, now() - interval '60 days', 1, 'permanent', 'planted'
      FROM jobs WHERE what = 'dead'),
    failures AS (
      INSERT INTO analysis.attempt_error (shard, period, attempt, calls, job_id, user_id, worker_id, at, status,
        maybe_counted, consumed, class, message)
      SELECT shard, $1, 1, 1, id, user_id, 1, now() - interval '60 days', 400, false, true, 'permanent', 'planted'
      FROM jobs WHERE what = 'dead'),
    used AS (
      INSERT INTO analysis.usage (shard, period, user_id, used, refunded, refused)
      SELECT shard, $1, user_id, 1, 2, 3 FROM people)
    SELECT j.shard, j.id, p.user_ref, j.what FROM jobs j JOIN people p USING (shard, user_id)
    """
}
