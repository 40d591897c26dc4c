import Testing

@testable import PostgreSQL

@Suite("A failed connection")
struct ConnectFailureTests {
  @Test(
    "is told apart by the server's code or libpq's words",
    arguments: [
      (
        "FATAL:  53300: sorry, too many clients already\nLOCATION:  InitProcess, proc.c:358", .tooManyClients,
        "53300"
      ),
      ("FATAL:  57P03: the database system is starting up", .startingUp, "57P03"),
      ("FATAL:  57P03: the database system is shutting down", .startingUp, "57P03"),
      ("ВАЖНО:  28P01: пользователь не прошёл проверку", .authentication, "28P01"),
      ("FATAL:  28000: no pg_hba.conf entry for host", .authentication, "28000"),
      ("FATAL:  3D000: database \"x\" does not exist", .databaseMissing, "3D000"),
      ("FATAL:  57P01: terminating connection due to administrator command", .interrupted, "57P01"),
      ("FATAL:  XX000: could not write init file: No space left on device", .interrupted, "XX000"),
      ("FATAL:  58030: could not read file", .interrupted, "58030"),
      ("failed: Connection refused\n\tIs the server running on that host", .refused, nil),
      ("failed: No such file or directory\n\tIs the server running locally", .refused, nil),
      (
        "could not translate host name \"db.example\" to address: Name or service not known", .nameResolution,
        nil
      ),
      ("failed: timeout expired", .timeout, nil),
      ("failed: fe_sendauth: no password supplied", .authentication, nil),
      ("failed: server does not support SSL, but SSL was required", .tls, nil),
      ("failed: SSL error: certificate verify failed", .tls, nil),
      ("failed: session is read-only", .wrongServer, nil),
      ("failed: server closed the connection unexpectedly", .interrupted, nil),
      // What PgBouncer says.
      ("FATAL:  08P01: query_wait_timeout", .interrupted, "08P01"),
      ("FATAL:  08P01: server login has been failing, try again later", .interrupted, "08P01"),
      (
        "FATAL:  08P01: no more connections allowed (max_client_conn)", .tooManyClients, "08P01"
      ),
      ("FATAL:  08P01: unsupported startup parameter: options", .configuration, "08P01"),
      ("FATAL:  08P01: no such database: x", .databaseMissing, "08P01"),
      ("FATAL:  08P01: no such user: x", .authentication, "08P01"),
    ] as [(String, ConnectionPhase, String?)])
  func phases(words: String, phase: ConnectionPhase, sqlState: String?) {
    let error = ConnectFailure.error(
      "connection to server at \"db.example\" (192.0.2.1), port 5432 " + words, whenUnknown: .configuration)
    #expect(error.phase == phase)
    #expect(error.sqlState == sqlState)
    #expect(error.isConnectionLoss)
    #expect(error.isTransient == phase.isTransient)
    #expect(!error.message.contains("LOCATION") && !error.message.contains("\n"))
  }

  @Test(
    "has a code only where there is one",
    arguments: ["", ":  53300", "x:  5330: y", "x: 53300: y", "x:  5330o: y", "port 54321: refused"])
  func noCode(text: String) {
    #expect(ConnectFailure.sqlState(in: text) == nil)
  }
}
