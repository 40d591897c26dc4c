import Testing

@testable import Control
@testable import Queue

@Suite("A profile answer")
struct ProfileAnswerTests {
  @Test(
    "is read in each of its forms",
    arguments: [
      (#"{"user": {"id": "u1", "email": "a@example.org", "subscription": "free"}}"#, ["u1"]),
      (#"{"id": "u1"}"#, ["u1"]),
      (#"{"id": 42, "extra": [1, {"user": 2}]}"#, ["42"]),
      (#"[{"id": "a"}, {"user": {"id": "b"}}, [{"id": "c"}]]"#, ["a", "b", "c"]),
      ("[]", []),
    ])
  func forms(text: String, ids: [String]) throws {
    #expect(try ProfileAnswer.parse(Array(text.utf8)).map(\.reference) == ids)
  }

  @Test("carries every field", arguments: ["2025-03-22T12:34:56.789Z", "2025-03-22T12:34:56Z"])
  func fields(date: String) throws {
    let text = """
      {"user": {"id": "u", "email": "e", "name": "n", "subscription": "premium", "analysisCount": 4,
       "photoUrl": "https://x/1", "lastResetDate": "\(date)"}}
      """
    let answer = try #require(try ProfileAnswer.parse(Array(text.utf8)).first)
    #expect(answer.email == "e")
    #expect(answer.name == "n")
    #expect(answer.subscription == "premium" && answer.plan == "premium")
    #expect(answer.analysisCount == 4)
    #expect(answer.photoURL == "https://x/1")
    let reset = try #require(answer.lastResetDate)
    #expect(abs(reset - (date.contains(".") ? 1_742_646_896.789 : 1_742_646_896)) < 0.000_01)
  }

  @Test(
    "is refused when it is none, without its values in the message",
    arguments: [
      "", "{", "null", "7", #"{"email": "secret@example.org"}"#, #"{"id": ""}"#, #"{"id": {}}"#,
      #"{"user": {"email": "secret@example.org"}}"#, #"{"id": "u", "analysisCount": "secret@example.org"}"#,
      #"{"id": "u", "lastResetDate": "secret@example.org"}"#, "<html>secret@example.org</html>",
    ])
  func refused(text: String) {
    let error = #expect(throws: JobQueueError.self) { try ProfileAnswer.parse(Array(text.utf8)) }
    #expect(error?.code == .invalid)
    #expect(error?.description.contains("secret") == false)
  }
}
