import TestSupport

/// One answer of an endpoint that means harm: to the worker, to who reads its logs, or to the person.
struct AnswerAttack: Sendable {
  /// What has to become of the job.
  enum Outcome: Sendable, Equatable {
    /// Dead, with this class of failure.
    case dead(String)
    /// Stored, as a text that does no harm.
    case stored
    /// To be tried again, within a day.
    case later
  }

  /// What is tried, in words.
  let tries: String
  let reply: Backend.Reply
  let outcome: Outcome

  init(_ tries: String, _ reply: Backend.Reply, _ outcome: Outcome) {
    self.tries = tries
    self.reply = reply
    self.outcome = outcome
  }

  /// A diagnosis. It may stand in a result, and nowhere else.
  static let mark = "Confided-Quinsy"

  private static func condition(
    id: String = "\"quinsy\"", name: String = "\"\(mark)\"", confidence: String = "0.9", further: String = ""
  ) -> String {
    "{\"id\":\(id),\"name\":\(name),\"confidence\":\(confidence)\(further)}"
  }

  private static func analysis(
    id: String = "\"a-1\"", type: String = "\"throat\"", conditions: String = "[\(condition())]",
    further: String = ""
  ) -> Backend.Reply {
    Backend.Reply(
      body:
        "{\"id\":\(id),\"type\":\(type),\"timestamp\":\"2100-03-22T12:34:56.789Z\",\"conditions\":\(conditions)\(further)}"
    )
  }

  private static func raw(_ text: String) -> Backend.Reply {
    .raw { try $0.write(text) }
  }

  static let all: [AnswerAttack] = [
    AnswerAttack(
      "a page with a diagnosis in place of an analysis",
      Backend.Reply(body: "<!DOCTYPE html><p>\(mark)</p>", headers: ["Content-Type: text/html"]),
      .dead("invalid_answer")),
    AnswerAttack(
      "a diagnosis as the name of a member", Backend.Reply(body: "{\"\(mark)\":1}"), .dead("invalid_answer")),
    AnswerAttack(
      "a diagnosis in an analysis that has no id", analysis(id: "null"), .dead("invalid_answer")),
    AnswerAttack(
      "a diagnosis as the type", analysis(type: "\"\(mark)\""), .dead("invalid_answer")),
    AnswerAttack(
      "a diagnosis as the message of an error with 200",
      Backend.Reply(body: "{\"error\":true,\"message\":\"\(mark)\",\"code\":\"\(mark)\"}"),
      .dead("invalid_answer")),
    AnswerAttack(
      "a made-up result that says so beside a diagnosis",
      analysis(conditions: "[\(condition(further: ",\"error_note\":\"\(mark) fallback\""))]"),
      .dead("invalid_answer")),
    AnswerAttack(
      "a diagnosis cut off by its length",
      raw("HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n{\"id\":\"a-1\",\"conditions\":[\"\(mark)\""),
      .dead("invalid_answer")),
    AnswerAttack(
      "a chunk of no length",
      raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n{\"\(mark)\":1}\r\n0\r\n\r\n"),
      .dead("invalid_answer")),
    AnswerAttack("a diagnosis that is no HTTP", raw("\(mark)\r\n"), .dead("invalid_answer")),
    AnswerAttack(
      "2 MiB of it", analysis(further: ",\"padding\":\"\(String(repeating: mark, count: 140_000))\""),
      .dead("invalid_answer")),
    AnswerAttack(
      "lists in lists without end", Backend.Reply(body: String(repeating: "[", count: 900_000)),
      .dead("invalid_answer")),
    AnswerAttack(
      "101 conditions",
      analysis(conditions: "[\(Array(repeating: condition(), count: 101).joined(separator: ","))]"),
      .dead("invalid_answer")),
    AnswerAttack(
      "a confidence above all", analysis(conditions: "[\(condition(confidence: "1e999"))]"),
      .dead("invalid_answer")),
    AnswerAttack(
      "a confidence that is no number", analysis(conditions: "[\(condition(confidence: "NaN"))]"),
      .dead("invalid_answer")),
    AnswerAttack(
      "a confidence below nothing", analysis(conditions: "[\(condition(confidence: "-0.0000001"))]"),
      .dead("invalid_answer")),
    AnswerAttack(
      "an id that ends a text of the database", analysis(id: "\"a\\u0000b\""), .dead("invalid_answer")),
    AnswerAttack(
      "half a character", analysis(conditions: "[\(condition(name: "\"\(mark)\\ud800\""))]"),
      .dead("invalid_answer")),
    AnswerAttack(
      "headers of 400 kB",
      Backend.Reply(body: "{}", headers: (0..<400).map { "X-\($0): \(String(repeating: "y", count: 1000))" }),
      .dead("invalid_answer")),
    AnswerAttack(
      "a body compressed without being asked",
      Backend.Reply(body: "\u{1F}\u{8B}\(mark)", headers: ["Content-Encoding: gzip"]), .dead("invalid_answer")
    ),
    AnswerAttack(
      "a redirect that would take the token along",
      Backend.Reply(status: 307, headers: ["Location: http://127.0.0.1:9/api/analyze"]), .dead("redirect")),
    AnswerAttack(
      "a wait of centuries", Backend.Reply(status: 429, headers: ["Retry-After: 99999999999999999999"]),
      .later),
    AnswerAttack(
      "an escape of the terminal as a refusal",
      Backend.Reply(status: 400, body: "{\"message\":\"\\u001b]0;x\\u0007\\u202e\"}"),
      .dead("permanent")),
    AnswerAttack(
      "a name that turns round a line and writes on the terminal",
      analysis(conditions: "[\(condition(name: "\"\(mark)\\u202e\\u001b[2J\""))]"), .dead("invalid_answer")),
    AnswerAttack(
      "a name that is a formula of a spreadsheet",
      analysis(
        id: "\"a-2\"", conditions: "[\(condition(name: "\"=HYPERLINK(\\\"http://x\\\",\\\"\(mark)\\\")\""))]"),
      .stored),
    AnswerAttack(
      "statements of SQL as texts",
      analysis(id: "\"a-3\"", conditions: "[\(condition(id: "\"'); DROP TABLE analysis.result; --\""))]"),
      .stored),
  ]
}
