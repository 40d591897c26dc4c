import Testing

@testable import CommandLineTool
@testable import Control
@testable import Queue
@testable import Support

@Suite("Events in a line")
struct WatchedEventTests {
  private func event(_ kind: QueueEvent.Kind, user: String = "u1") -> QueueEvent {
    var event = QueueEvent(kind, at: 1_790_000_000)
    (event.job, event.user, event.attempt) = (JobID(1_234_567_890), user, 2)
    event.lane = Lane(.throat, .normal)
    (event.subject, event.name, event.message) = ("server", "SERVER_ERROR", "HTTP 503 of the endpoint")
    return event
  }

  private func text(_ event: QueueEvent, width: Int? = 80) -> String {
    WatchedEvent(event: event, result: nil).text(width: width, paint: Paint(false))
  }

  @Test(
    "no line is wider than the terminal, and the number of the job is whole",
    arguments: QueueEvent.Kind.allCases)
  func narrow(kind: QueueEvent.Kind) {
    for user in ["u1", String(repeating: "long", count: 50), "患者" + String(repeating: "長", count: 100)] {
      let line = text(event(kind, user: user))
      #expect(displayWidth(String(line.dropLast())) <= 80, "\(line)")
      #expect(line.contains(" 1234567890  \(user.prefix(2))"), "\(line)")
    }
    #expect(text(event(kind), width: nil).hasPrefix("14:13:20Z  "), "\(text(event(kind), width: nil))")
  }

  @Test("a failure is shown with its cause, a pause with who paused what and why")
  func details() {
    #expect(
      text(event(.retried), width: nil)
        == "14:13:20Z  retried    1234567890  u1  attempt 2 server SERVER_ERROR HTTP 503 of the endpoint\n")
    var pause = QueueEvent(.paused, at: 1_790_000_000)
    (pause.subject, pause.name, pause.by, pause.message) = ("type", "throat", "olga", "too slow")
    #expect(text(pause) == "14:13:20Z  paused     type throat by olga (too slow)\n")
    var refusal = QueueEvent(.refused, at: 1_790_000_000)
    (refusal.count, refusal.batch) = (3, BatchID(17))
    #expect(text(refusal) == "14:13:20Z  refused    3 in B17\n")
    var left = QueueEvent(.leftOut, at: 1_790_000_000)
    (left.count, left.subject) = (3200, "done")
    #expect(text(left) == "14:13:20Z  left out   about 3200 done more than were seen\n")
    #expect(
      EventSum(kind: .done, count: 3200, at: 1_790_000_000, in: 1.4).text(width: 80, paint: Paint(false))
        == "14:13:20Z  done       3200 jobs in 2 s\n")
  }
}
