import PostgreSQL
import QueueTestSupport
import Testing

@testable import Queue
@testable import Support

/// The server ends the connection in the middle of the first submit, so that its answer is lost.
@Suite("A submit whose answer is lost")
struct LostAnswerTests {
  /// Puts a function in the place of `submit` that ends its own backend at the first call. A sequence
  /// counts the calls, since it alone survives the transaction that is lost.
  private func loseFirstAnswer(_ queue: QueueFixture) async throws {
    try await queue.pool.execute(
      script: """
        CREATE SEQUENCE public.calls;
        ALTER FUNCTION analysis.submit RENAME TO submit_itself;
        CREATE FUNCTION analysis.submit(
          p_shard smallint, p_user text[], p_kind smallint[], p_priority smallint[], p_sha256 bytea[],
          p_image bytea[], p_width int[], p_height int[], p_unsanitized boolean[], p_key text[], p_at timestamptz[],
          p_expires timestamptz[], p_source text[], p_max_attempts smallint, p_encrypted_by bigint[],
          p_wrapped_key bytea[])
        RETURNS TABLE (
          o_index int, o_outcome text, o_reason text, o_job bigint, o_period smallint, o_limit int, o_used int)
        LANGUAGE plpgsql AS $$
        BEGIN
          IF nextval('public.calls') = 1 THEN
            PERFORM pg_terminate_backend(pg_backend_pid());
            PERFORM pg_sleep(60);
          END IF;
          RETURN QUERY SELECT * FROM analysis.submit_itself(p_shard, p_user, p_kind, p_priority, p_sha256,
            p_image, p_width, p_height, p_unsanitized, p_key, p_at, p_expires, p_source, p_max_attempts,
            p_encrypted_by, p_wrapped_key);
        END $$;
        """)
  }

  @Test("is made again when every job has a key, and makes each job once")
  func repeated() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic", plan: "free")
      try await loseFirstAnswer(queue)
      let outcomes = try await queue.submit((1...3).map { queue.submission("clinic", $0, key: "key \($0)") })
      #expect(outcomes.allSatisfy { $0.job != nil })
      #expect(try await queue.number("SELECT count(*) FROM analysis.job") == 3)
      #expect(try await queue.number("SELECT used FROM analysis.usage") == 3)
      #expect(try await queue.number("SELECT last_value FROM public.calls") == 2)
    }
  }

  @Test("answers the jobs that the lost call had made")
  func committed() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic", plan: "free")
      let items = (1...3).map { queue.submission("clinic", $0, key: "key \($0)") }
      // As if the call had been committed before its connection went.
      let made = try await queue.submit(items).map(\.job)
      try await loseFirstAnswer(queue)
      let outcomes = try await queue.submit(items)
      #expect(outcomes.map(\.job) == made)
      #expect(try await queue.number("SELECT used FROM analysis.usage") == 3)
    }
  }

  @Test("is reported as unknown when a job has no key, and not made again")
  func unknown() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      try await loseFirstAnswer(queue)
      let items = [queue.submission("clinic", 1, key: "key"), queue.submission("clinic", 2)]
      let error = await #expect(throws: JobQueueError.self) { try await queue.submit(items) }
      #expect(error?.code == .outcomeUnknown)
      #expect(try await queue.number("SELECT last_value FROM public.calls") == 1)
    }
  }
}
