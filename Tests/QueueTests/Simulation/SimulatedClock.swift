import PostgreSQL
import QueueTestSupport
import TestSupport

@testable import Queue

/// The product's schema and functions with the server's clock in the test's hand.
///
/// Every function of the queue reads the time by `clock_timestamp()` alone (a test sees to it). Here they are
/// installed with that one name replaced by a function that reads a row. So a history of months takes
/// milliseconds, no step of it depends on how long a call takes, and two calls can be made at the same instant,
/// where a deadline is neither before nor after. Moving the stored times back instead would move no month.
enum SimulatedClock {
  static let template = DatabaseTemplate.migrated("simulated_clock") { pool in
    try await pool.execute(script: clock)
    for group in SQLFiles.files(in: "functions") {
      try await pool.execute(script: simulated(group.text))
    }
    try await pool.execute(script: MigrationScript.closing)
    let months = QueueModel.months
    try await pool.execute(
      script:
        "SELECT analysis.ensure_partitions(\(months.lowerBound)::smallint, \(months.upperBound)::smallint)")
  }

  /// A function's text with the clock replaced, and the server's start, which a rescue looks at, long ago.
  static func simulated(_ text: String) -> String {
    text.replacing("clock_timestamp()", with: "analysis.simulated_now()")
      .replacing("pg_postmaster_start_time()", with: "timestamptz '-infinity'")
  }

  /// The clock, a time in milliseconds, and plans that differ in their units and in what a job costs.
  private static let clock = """
    CREATE TABLE analysis.simulated_clock (at timestamptz PRIMARY KEY);
    INSERT INTO analysis.simulated_clock VALUES (analysis.period_start(\(QueueModel.months.lowerBound)::smallint, 'UTC'));
    CREATE FUNCTION analysis.simulated_now() RETURNS timestamptz LANGUAGE sql VOLATILE
      AS 'SELECT c.at FROM analysis.simulated_clock c';
    ALTER TABLE analysis.simulated_clock OWNER TO analysis_owner;
    ALTER FUNCTION analysis.simulated_now() OWNER TO analysis_owner;
    CREATE FUNCTION analysis.ms(timestamptz) RETURNS bigint LANGUAGE sql
      AS 'SELECT (extract(epoch FROM $1) * 1000)::bigint';
    INSERT INTO analysis.plan (id, name, display_name, created_at) VALUES (3, 'clinic', 'Clinic', '-infinity');
    INSERT INTO analysis.plan_limit (plan_id, valid_from, monthly_limit) VALUES (3, '-infinity', 20);
    UPDATE analysis.plan SET cost = CASE name WHEN 'free' THEN 3000 WHEN 'clinic' THEN 500 ELSE 1000 END
    """
}
