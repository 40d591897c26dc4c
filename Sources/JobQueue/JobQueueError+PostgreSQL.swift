import PostgreSQL

extension JobQueueError {
  /// An error of the layer below, with what was being done in the form "submitting jobs".
  package init(_ error: any Error, while doing: String) {
    if let error = error as? JobQueueError {
      self = error
    } else if let error = error as? PostgreSQLError {
      self.init(postgreSQL: error, while: doing)
    } else if error is CancellationError {
      self.init(.cancelled, "Cancelled while \(doing).", underlying: error)
    } else {
      self.init(.server, "Failed while \(doing): \(error).", underlying: error)
    }
  }

  private init(postgreSQL error: PostgreSQLError, while doing: String) {
    let (code, what, advice) = Self.words(error)
    guard !error.lacksRole else {
      // The server names a function or a table, which helps nobody: the role is named by whoever knows the command.
      self.init(code, "\(what) while \(doing).", advice: advice, underlying: error)
      return
    }
    self.init(code, "\(what) while \(doing): \(error.message)", advice: advice, underlying: error)
  }

  /// What to look at when no connection could be made.
  private static func advice(_ phase: ConnectionPhase?) -> String {
    switch phase {
    case .some(.configuration): "Mend the connection settings (--database, or PG* variables and their files)."
    case .some(.passwordFile): "Only its owner may be able to read a password file."
    case .some(.authentication): "Check the role, its password file and the server's pg_hba.conf."
    case .some(.databaseMissing): "Check the database's name (PGDATABASE), or make it with createdb."
    case .some(.tls): "Check the certificates and PGSSLMODE."
    default: "Check that it runs and how to reach it (PGHOST and the like)."
    }
  }

  private static func words(_ error: PostgreSQLError) -> (Code, String, String?) {
    if error.code == .deadlineExceeded {
      return (.deadline, "The database did not answer in time", "Try again; see whether it is overloaded.")
    }
    if error.code == .cancelled { return (.cancelled, "Cancelled", nil) }
    if error.isConnectionLoss || error.code == .closed {
      return (.unreachable, "The database could not be reached", advice(error.phase))
    }
    guard let state = error.sqlState else {
      return (
        .unexpectedAnswer, "The database's answer was not understood",
        "Check that the schema and this program belong together: analysisctl migrate."
      )
    }
    switch state {
    case _ where error.isPermissionDenied:
      // Where the schema itself refuses, it says what is to be done.
      return (
        .permission, "The login lacks a role of the database",
        error.hint ?? "See which it needs with analysisctl roles check."
      )
    case _ where error.isSchemaLacking:
      return (.schemaMissing, "The database lacks a part of the schema", "Run analysisctl migrate.")
    case _ where error.isReadOnlyServer:
      return (
        .unreachable, "The database takes no changes (it is a standby, or was made read-only)",
        "Connect to the primary: name all servers as host=a,b and add target_session_attrs=read-write."
      )
    case "55P03":
      return (.conflict, "The database was busy with the same rows", "Try again.")
    case "57014":
      return (
        .conflict, "The database ended the call",
        "Try again; if it happens again, see statement_timeout and who cancels."
      )
    case "53100":
      return (
        .unreachable, "The database's volume is full",
        "Make room on it, then do the same again; nothing was stored."
      )
    default:
      break
    }
    switch state.prefix(2) {
    case "22", "23": return (.badRow, "The database refused a value", error.hint)
    case "40": return (.conflict, "The database ended the call in favour of another", "Try again.")
    case "08", "53", "57", "58":
      return (.unreachable, "The database is not able to work", "Try later; see the database's log.")
    default: return (.server, "The database reported an error (\(state))", nil)
    }
  }
}
