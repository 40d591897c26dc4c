import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite(
  "A worker whose clock is three days off",
  .enabled(if: WrongClock.isAvailable, "needs libfaketime, and no sanitizer"))
struct WorkerClockTests {
  @Test("works as any other: retries, times and months are the server's", arguments: WrongClock.both)
  func works(clock: WrongClock) async throws {
    try await AccountInstallation.with(jobs: 12, maxAttempts: 3) { installation in
      let failing = installation.jobs.prefix(4).map { Int($0.value) }
      let seen = Keys()
      let backend = try AccountInstallation.backend { call in
        // The first attempt of some fails, of two of them with a time to wait.
        guard let place = failing.firstIndex(of: call.job ?? 0), !seen.all.contains(call.key ?? "") else {
          return .analysis(call)
        }
        seen.add(call.key)
        return place < 2
          ? .failure(500, "SERVER_ERROR") : .failure(429, "BUSY", headers: ["Retry-After: 1"])
      }
      let ended = try await installation.drain(backend.url, clock: clock)
      #expect(ended.code == 0, "\(ended.messages)")
      try clock.expectWrong(ended.messages)
      #expect(try await installation.queue.results == 12)
      #expect(backend.calls.count == 16)
      // Every time that was written lies within this test.
      for time in [
        "finished_at FROM analysis.result", "at FROM analysis.attempt_error", "created_at FROM analysis.job",
      ] {
        let strays = try await installation.queue.number(
          "SELECT count(*)::int FROM (SELECT \(time)) t(at) WHERE abs(extract(epoch FROM now() - at)) > 3600")
        #expect(strays == 0, "\(time)")
      }
      #expect(
        try await installation.queue.number(
          "SELECT count(*)::int FROM analysis.result WHERE period <> analysis.period_of(now(), 'UTC')") == 0)
    }
  }

  @Test("runs neither too early nor too late what is to run at a time", arguments: WrongClock.both)
  func scheduled(clock: WrongClock) async throws {
    try await AccountInstallation.with(jobs: 3) { installation in
      let queue = installation.queue
      // One in a day, which a clock ahead takes for over, and two in a second, which one behind does not.
      _ = try await queue.pool.query(
        """
        WITH taken AS (DELETE FROM analysis.ready RETURNING *)
        INSERT INTO analysis.scheduled (shard, lane, tries, period, run_at, job_id, user_id)
        SELECT t.shard, t.lane, t.tries, t.period,
               now() + CASE WHEN t.job_id = \(installation.jobs[0]) THEN interval '1 day' ELSE interval '1 second' END, t.job_id,
               j.user_id
        FROM taken t JOIN analysis.job j ON j.id = t.job_id
        """)
      let backend = try AccountInstallation.backend()
      let ended = try await installation.drain(backend.url, clock: clock)
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(try await queue.results == 2)
      #expect(Set(backend.calls.map(\.job)) == Set(installation.jobs.dropFirst().map { Int($0.value) }))
      #expect(
        try await queue.number("SELECT count(*)::int FROM analysis.scheduled WHERE run_at > now()")
          == 1)
    }
  }

  @Test(
    "keeps its leases beside a worker whose clock is right, and nobody takes a job from the other",
    arguments: WrongClock.both)
  func leases(clock: WrongClock) async throws {
    try await AccountInstallation.with(jobs: 60, maxAttempts: 1) { installation in
      let backend = try AccountInstallation.backend { call in
        // The model's own time: both workers must hold leases for a while.
        usleep(300_000)
        return .analysis(call)
      }
      let options = ["--lease", "60s", "--concurrency", "4", "--prefetch", "4"]
      let wrong = try installation.start(backend.url, options, clock: clock)
      let right = try installation.start(backend.url, options)
      try await eventually {
        try await installation.queue.number("SELECT count(*)::int FROM analysis.lease") > 0
      }
      let odd = try await installation.queue.number(
        "SELECT count(*)::int FROM analysis.lease WHERE deadline > clock_timestamp() + interval '61 seconds'")
      #expect(odd == 0)
      try await eventually { try await installation.queue.results + installation.queue.count("dead") == 60 }
      #expect(try await installation.queue.count("dead") == 0)
      try clock.expectWrong(await installation.stop(wrong).messages)
      _ = await installation.stop(right)
      #expect(backend.calls.count == 60)
      #expect(try await installation.attempts() == [])
    }
  }

  @Test("that is killed loses its jobs to a worker whose clock is wrong the other way, in due time")
  func rescued() async throws {
    try await AccountInstallation.with(jobs: 40, maxAttempts: 1) { installation in
      let gate = Gate()
      let backend = try AccountInstallation.backend { call in
        // Nobody is answered while the victim lives; who passes afterwards lets the next one through.
        gate.wait()
        gate.open()
        return .analysis(call)
      }
      let victim = try installation.start(
        backend.url, ["--lease", "3s", "--concurrency", "4"], clock: WrongClock.both[0])
      try await eventually { backend.calls.count >= 4 }
      victim.send(SIGKILL)
      #expect(await victim.ended().wasKilled)
      gate.open()
      let ended = try await installation.drain(backend.url, clock: WrongClock.both[1])
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(try await installation.queue.results == 40)
      #expect(try await installation.queue.count("dead") == 0)
      #expect(try await installation.attempts(consumedOnly: true) == [])
    }
  }

  @Test(
    "waits as long as a date in Retry-After is ahead of the answer's own date", arguments: WrongClock.both)
  func retryAfterDate(clock: WrongClock) async throws {
    try await expectWait(clock, withDate: true, within: 600...602)
  }

  @Test(
    "waits no longer than an hour by a date in Retry-After without the answer's own date",
    arguments: WrongClock.both)
  func retryAfterWithoutDate(clock: WrongClock) async throws {
    try await expectWait(clock, withDate: false, within: 0...3601)
  }

  private func expectWait(_ clock: WrongClock, withDate: Bool, within range: ClosedRange<Double>) async throws
  {
    try await AccountInstallation.with(maxAttempts: 3) { installation in
      let backend = try AccountInstallation.backend { call in
        guard call.number == 1 else { return .analysis(call) }
        let now = Date()
        let headers = ["Retry-After: \(httpDate(now + 600))"] + (withDate ? ["Date: \(httpDate(now))"] : [])
        return .failure(503, "BUSY", headers: headers)
      }
      let ended = try await installation.drain(backend.url, horizon: "5s", clock: clock)
      #expect(ended.code == 0, "\(ended.messages)")
      let (attempts, waits) = (
        try await installation.attempts(),
        try await installation.queue.pool.query(
          """
          SELECT extract(epoch FROM s.run_at - e.at)::float8
          FROM analysis.scheduled s JOIN analysis.attempt_error e USING (shard, job_id)
          """
        ).map { try $0.double(0) }
      )
      #expect(attempts.count == 1)
      #expect(waits.allSatisfy { range.contains($0) }, "\(waits)")
      // A clock ahead takes the date for over, and asks again at once: bounded too.
      #expect(withDate ? waits.count == 1 : waits.count + backend.calls.count == 2)
    }
  }

  @Test("does not log in for every call when a token says that it has ended", arguments: WrongClock.both)
  func tokens(clock: WrongClock) async throws {
    try await AccountInstallation.with(jobs: 30) { installation in
      let backend = try Backend(
        { .analysis($0) },
        login: { number in
          // A JWT of an hour, which does not say when it was issued.
          let claims = Data("{\"exp\":\(Int(Date().timeIntervalSince1970) + 3600)}".utf8)
            .base64EncodedString().filter { $0 != "=" }
          return .token("\(AccountInstallation.token).\(claims).\(number)")
        })
      let ended = try await installation.drain(backend.url, ["--concurrency", "2"], clock: clock)
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(try await installation.queue.results == 30)
      #expect(backend.logins == 1)
    }
  }

  @Test(
    "says so when a certificate seems not to be valid by it, and sends nothing",
    .enabled(if: Authority.isAvailable, "needs openssl and /usr/bin/python3"), arguments: WrongClock.both)
  func certificate(clock: WrongClock) async throws {
    let authority = try await Authority()
    let file = try await authority.certificate(names: "DNS:localhost,IP:127.0.0.1")
    try await RunningEndpoint.with(["--tls-cert", file, "--tls-key", authority.key]) {
      endpoint async throws in
      try await AccountInstallation.with(jobs: 75) { installation in
        let address = endpoint.url.replacing("http://", with: "https://")
        let ended = try await installation.drain(
          address, horizon: "2s", ["--ca-file", authority.file, "--concurrency", "4"], account: false,
          clock: clock)
        #expect(ended.code == 75, "\(ended.messages)")
        #expect(ended.messages.contains("this machine's clock"), "\(ended.messages)")
        let attempts = try await installation.attempts()
        #expect(!attempts.isEmpty && attempts.allSatisfy { $0.kind == "not_sent" })
        #expect(attempts.allSatisfy { $0.message.contains("this machine's clock") }, "\(attempts)")
        #expect(try endpoint.calls.isEmpty)
      }
    }
  }
}

/// A time as HTTP writes it.
func httpDate(_ date: Date) -> String {
  var seconds = time_t(date.timeIntervalSince1970)
  var parts = tm()
  gmtime_r(&seconds, &parts)
  var text = [CChar](repeating: 0, count: 64)
  let length = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
  return String(decoding: text.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
