import PostgreSQL
import Queue
import Support
import TestSupport

/// Calls functions by lot as one login until the run's faults end: each by itself or several in a transaction, which is
/// left open for a while, committed or rolled back.
struct StressSession {
  let rig: Rig
  let part: StressPart

  private struct ChangedMind: Error {}

  /// Ends the backends of all sessions, one by one.
  static func kill(in rig: Rig, until end: ContinuousClock.Instant) async {
    var generator = SeededGenerator(seed: rig.settings.seed &* 59)
    while ContinuousClock.now < end {
      try? await Task.sleep(for: .milliseconds(Int.random(in: 100...900, using: &generator)))
      _ = try? await rig.owner.query(
        """
        SELECT pg_terminate_backend(p.pid) FROM (
          SELECT a.pid, row_number() OVER (ORDER BY a.pid) - 1 AS place, count(*) OVER () AS count
          FROM pg_stat_activity a WHERE a.application_name = $1) p WHERE p.place = $2 % p.count
        """, [.text(Stress.applicationName), .int64(Int64.random(in: 0...100, using: &generator))],
        deadline: .seconds(5))
    }
  }

  func run(until end: ContinuousClock.Instant) async throws {
    let functions = try await StressFunction.all(of: part.login, in: rig.owner)
    let place = UInt64(StressPart.all.firstIndex(of: part) ?? 0)
    var draw = StressDraw(login: part.login, functions: functions, seed: rig.settings.seed &* 53 &+ place)
    let configuration = ConnectionConfiguration(
      rig.conninfo(0, role: part.login), applicationName: Stress.applicationName, connectTimeout: .seconds(3),
      defaultDeadline: Stress.bound)
    var connection: Connection?
    while ContinuousClock.now < end {
      draw.facts = await rig.stress.facts(from: rig.owner)
      do {
        let open: Connection
        if let connection {
          open = connection
        } else {
          open = try await Connection.connect(configuration, on: rig.loop)
        }
        connection = open
        try await turn(open, &draw)
      } catch {
        // It was ended, or the server is away.
        await connection?.close()
        connection = nil
        try? await Task.sleep(for: .milliseconds(100))
      }
      try? await Task.sleep(for: .milliseconds(Int.random(in: 5...60, using: &draw.generator)))
    }
    await connection?.close()
  }

  // MARK: Parts

  /// One transaction. What it is refused is no error; that its connection is lost is one.
  private func turn(_ connection: Connection, _ draw: inout StressDraw) async throws {
    defer { rig.stress.isIn(0, connection.backendPID) }
    var opened: [(StressCall, String)] = []
    if draw.chance(0.6) {
      if let one = try await call(draw.call(), 1, connection, connection) { opened.append(one) }
    } else {
      let level = [IsolationLevel.readCommitted, .readCommitted, .repeatableRead, .serializable]
        .randomElement(using: &draw.generator)
      let calls = (0..<Int.random(in: 1...5, using: &draw.generator)).map { _ in draw.call() }
      let stays =
        draw.chance(0.15) ? Duration.milliseconds(Int.random(in: 50...1000, using: &draw.generator)) : .zero
      let commits = draw.chance(0.7)
      do {
        try await connection.transaction(isolation: level) { transaction in
          for (place, drawn) in calls.enumerated() {
            if let one = try await call(drawn, place + 1, transaction, connection) { opened.append(one) }
          }
          try await Task.sleep(for: stays)
          if !commits { throw ChangedMind() }
        }
      } catch is ChangedMind {
        opened = []
      } catch let error as PostgreSQLError where !error.isConnectionLoss {
        opened = []
      }
    }
    for (call, answer) in opened { draw.opened(call, answer) }
  }

  /// Makes a call and takes note of it; gives what it opened.
  ///
  /// - Throws: Within a transaction whatever it was refused for, by itself a lost connection alone.
  private func call(
    _ drawn: StressCall?, _ place: Int, _ database: some Queryable, _ connection: Connection
  ) async throws -> (StressCall, String)? {
    guard let drawn else { return nil }
    rig.stress.isIn(place, connection.backendPID)
    do {
      let rows = try await database.query(drawn.sql, deadline: Stress.bound)
      rig.stress.record(drawn, of: part.login, nil)
      return try drawn.opensReading ? rows.first?.stringIfPresent(0).map { (drawn, $0) } : nil
    } catch {
      rig.stress.record(drawn, of: part.login, error)
      if database is Connection, !error.isConnectionLoss { return nil }
      throw error
    }
  }
}
