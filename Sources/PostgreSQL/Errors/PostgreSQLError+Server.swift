internal import Clibpq
import Formatting

extension PostgreSQLError {
  /// The server's own error, redacted.
  init(_ result: ServerResult, statement: String?) {
    let pointer = result.pointer
    func field(_ text: UnsafePointer<CChar>?) -> String? { text.map { String(cString: $0) } }
    guard let sqlState = field(pq_diag_sqlstate(pointer)) else {
      // libpq's own words; it has a SQLSTATE for nothing of its own making.
      let text = field(PQresultErrorMessage(pointer)) ?? ""
      self.init(.server, Redaction.withoutQuoted(text.trimmed), statement: statement)
      return
    }
    let primary = field(pq_diag_message(pointer)) ?? "The server refused the statement."
    self.init(.server, ServerText.message(primary, sqlState: sqlState), statement: statement)
    self.sqlState = sqlState
    detail = ServerText.detail(field(pq_diag_detail(pointer)), sqlState: sqlState)
    hint = field(pq_diag_hint(pointer))
    constraint = field(pq_diag_constraint(pointer))
    table = field(pq_diag_table(pointer))
    context = ServerText.context(field(pq_diag_context(pointer)))
  }
}

extension String {
  /// Without white space at either end, and in one line.
  var trimmed: String {
    split(whereSeparator: \.isNewline)
      .map { line in
        let start = line.drop(while: \.isWhitespace)
        return String(start.reversed().drop(while: \.isWhitespace).reversed())
      }
      .filter { !$0.isEmpty }
      .joined(separator: " ")
  }
}

extension PostgreSQLError {
  /// The server's last words as the reason of the connection's loss.
  var asLoss: PostgreSQLError {
    var loss = PostgreSQLError(.connectionLost, message)
    loss.sqlState = sqlState
    return loss
  }
}
