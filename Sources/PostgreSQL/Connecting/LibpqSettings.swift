internal import Clibpq
import Support

/// Settings of a connection as libpq understood them, by their keywords; what is empty was not given.
struct LibpqSettings {
  let values: [String: String]
  /// The keywords of those that libpq itself counts as secrets.
  let secrets: [String]

  init(values: [String: String], secrets: [String] = []) {
    self.values = values
    self.secrets = secrets
  }

  /// What a connection that was begun goes by, from wherever it was taken; nil without memory.
  init?(of connection: OpaquePointer) {
    guard let options = PQconninfo(connection) else { return nil }
    defer { PQconninfoFree(options) }
    self.init(options)
  }

  /// What a connection string says.
  ///
  /// - Throws: When it cannot be read. What libpq quotes of it is left out.
  init(conninfo: String) throws(PostgreSQLError) {
    // A plain name is a database's, as everywhere in libpq.
    guard conninfo.contains("=") || conninfo.contains("://") else {
      self.init(values: ["dbname": conninfo])
      return
    }
    var message: UnsafeMutablePointer<CChar>?
    let options = PQconninfoParse(conninfo, &message)
    defer {
      PQconninfoFree(options)
      PQfreemem(message)
    }
    guard let options else {
      let message = message.map { String(cString: $0) } ?? "out of memory"
      var error = PostgreSQLError(
        .connectionFailed,
        "No connection: the connection string cannot be read: \(Redaction.withoutQuoted(message).trimmed).")
      error.phase = .configuration
      throw error
    }
    self.init(options)
  }

  private init(_ first: UnsafeMutablePointer<PQconninfoOption>) {
    var values: [String: String] = [:]
    var secrets: [String] = []
    var option = first
    while let keyword = option.pointee.keyword.map({ String(cString: $0) }) {
      let value = option.pointee.val.map { String(cString: $0) } ?? ""
      if !value.isEmpty {
        values[keyword] = value
        // So it marks what a dialogue has to hide.
        if option.pointee.dispchar.map({ String(cString: $0) }) == "*" { secrets.append(keyword) }
      }
      option += 1
    }
    self.init(values: values, secrets: secrets)
  }
}
