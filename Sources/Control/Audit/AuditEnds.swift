import Support

/// Where the ends of the audit's chain are kept: outside of the database, where who may do everything in there can
/// change nothing. Calls block.
enum AuditEnds: Sendable, Equatable, CustomStringConvertible {
  /// A file to which lines are appended.
  case file(String)
  /// The system's journal, under a name that tells the installations of a machine apart.
  case journal(String)

  /// Which entries of the journal are ends.
  private static let messageID = "15563223a76c4b358ad8823579fe9c53"
  private static let nameField = "ANALYSIS_AUDIT_NAME"
  private static let endField = "ANALYSIS_AUDIT_END"

  /// Reads `journal`, `journal:NAME` or a path; nil for anything else.
  init?(_ text: String) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.first == "journal" else {
      guard !text.isEmpty, !text.utf8.contains(0) else { return nil }
      self = .file(text)
      return
    }
    let name = parts.count == 1 ? "analysis" : String(parts[1])
    guard name.wholeMatch(of: /[a-z0-9_-]{1,60}/) != nil else { return nil }
    self = .journal(name)
  }

  /// As it is given.
  var description: String {
    switch self {
    case .file(let path): path
    case .journal(let name): "journal:\(name)"
    }
  }

  /// Keeps an end. Throws `unwritable` or `notPrivate`.
  func keep(_ end: KeptEnd) throws(SystemError) {
    switch self {
    case .file(let path): try AppendedFile.append(end.line, to: path)
    case .journal(let name):
      try Journal.send([
        ("MESSAGE", "The audit of \(name) ends at entry \(end.mark.id)"), ("PRIORITY", "6"),
        ("SYSLOG_IDENTIFIER", "analysisctl"), ("MESSAGE_ID", Self.messageID), (Self.nameField, name),
        (Self.endField, end.line),
      ])
    }
  }

  /// The ends that a user of the system kept: the file has to be that user's, and an entry of the journal has to be
  /// sent by that user, as the journal itself says. Throws `unreadable`, `invalid` or `notPrivate`.
  func ends(of user: UInt32) throws(SystemError) -> KeptEnds {
    switch self {
    case .file(let path): KeptEnds(try AppendedFile.lines(of: path, owner: user))
    case .journal(let name):
      KeptEnds(
        try Journal.values(
          of: Self.endField,
          matching: [("MESSAGE_ID", Self.messageID), (Self.nameField, name), ("_UID", "\(user)")]))
    }
  }
}
