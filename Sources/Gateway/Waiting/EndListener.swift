internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support

/// Hears which jobs have ended, where workers say so (`--notify-ended`): a hint to look at once. Where nothing is heard,
/// looking every few milliseconds finds every end.
struct EndListener: Sendable {
  let configuration: ConnectionConfiguration
  let loop: EventLoop
  let log: Log
  let waits: AnalysisWaits

  func run() async {
    var retries = RetryPauses(Backoff(base: .milliseconds(500), cap: .seconds(30)), least: .milliseconds(100))
    while !Task.isCancelled {
      do {
        let connection = try await Connection.connect(configuration, on: loop)
        guard try await connection.isDirect() else {
          log.notice("Ends of jobs are not heard through a pooler; looking finds every one")
          await connection.close()
          return
        }
        let notifications = try await connection.listen(QueueChannel.ended.rawValue)
        retries.reset()
        for await notification in notifications {
          // Not before the first: without --notify-ended there is none.
          await waits.setHears(true)
          await waits.hint(Self.jobs(notification.payload))
        }
        await connection.close()
      } catch {
        log.debug("Ends of jobs cannot be heard; looking goes on", ["error": .string("\(error)")])
      }
      await waits.setHears(false)
      try? await loop.sleep(for: retries.next())
    }
  }

  /// The jobs of a hint, `SHARD:JOB,JOB,…`; none of anything else.
  static func jobs(_ payload: String) -> [JobID] {
    guard let colon = payload.firstIndex(of: ":") else { return [] }
    return payload[payload.index(after: colon)...].split(separator: ",").compactMap { JobID(String($0)) }
  }
}
