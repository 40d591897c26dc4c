import Testing

@testable import PostgreSQL
@testable import Support

@Suite("What is kept of the server's text")
struct ServerTextTests {
  @Test(
    "takes out what libpq quotes of a connection string",
    arguments: [
      (
        "missing \"=\" after \"hunter2\" in connection info string", "missing \"…\" in connection info string"
      ),
      ("invalid port number: \"hunter2\"", "invalid port number: \"…\""),
      ("no quotes", "no quotes"), ("one \" quote", "one \" quote"), ("\"\"", "\"…\""),
    ])
  func quoted(text: String, expected: String) {
    #expect(Redaction.withoutQuoted(text) == expected)
  }

  @Test(
    "keeps of a statement its first words, and no literal",
    arguments: [
      ("SELECT 1", "SELECT 1"),
      ("\n  -- a comment\n  SELECT a, -- another\n  b FROM t", "SELECT a, b FROM t"),
      ("CREATE ROLE r LOGIN PASSWORD 'hunter2'", "CREATE ROLE r LOGIN PASSWORD …"),
      ("DO $$ BEGIN END $$", "DO …"),
      (
        "SELECT one, two, three, four, five, six, seven, eight FROM t",
        "SELECT one, two, three, four, five, six, seven, …"
      ),
      ("", ""),
    ])
  func labels(sql: String, label: String) {
    #expect(ServerText.label(sql) == label)
  }

  @Test("keeps only the lines of a context that name functions")
  func context() {
    let text = "COPY t, line 1, column a: \"hunter2\"\nPL/pgSQL function f() line 3 at RAISE"
    #expect(ServerText.context(text) == "PL/pgSQL function f() line 3 at RAISE")
    #expect(ServerText.context("COPY t, line 1: \"hunter2\"") == nil)
  }
}
