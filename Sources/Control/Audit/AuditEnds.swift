import CommandLineTool
import EventLoop
import PostgreSQL
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

enum AuditKeepCommand {
  static let command = ControlCommand(
    "keep", abstract: "Keep the end of the audit outside of the database.",
    discussion: """
      The end of the chain is appended to the file, or sent to the journal, that --audit-ends names. Workers chain what is \
      recorded, every second; as the owner this command does so too. What is not chained yet is said, since the end \
      does not cover it. Every command keeps the end by itself when it has moved; a timer runs this one every 5 minutes \
      for what was recorded by SQL and by workers. A file is not made: an administrator makes it so that nobody who \
      can write the database can change it. See audit verify --expect-from.
      """,
    examples: [
      Example("analysisctl audit keep --audit-ends journal", "Send it to the system's journal."),
      Example("analysisctl audit keep --audit-ends /var/log/analysis/audit-ends", "Append it to a file."),
    ],
    exitCodes: [.done, .usage, .unreachable, .tryLater, .permission], keepsEnd: false,
    timerSuccesses: [.done]
  ) { context in
    guard let place = try context[CommonOptions.auditEnds] else {
      throw CommandFailure.usage(
        "there is no place to keep the end in",
        advice: "Name a file or journal: --audit-ends, or audit-ends = journal in the configuration file.")
    }
    return try await context.withSession(keepsEnd: false) { session in
      let audit = AuditLog(session.database)
      try await audit.chain()
      let end = try await audit.end()
      try await EndKeeper.keep(end, in: place)
      // The schema before this one cannot tell.
      let unchained = try? await audit.unchained()
      var text = "Kept the end of the audit, entry \(end.mark.id), in \(printable(place.description)).\n"
      if let unchained, unchained.count > 0 {
        let age = unchained.seconds.map { ", the oldest for \(Int($0)) s" } ?? ""
        text +=
          "\(unchained.count) \(unchained.count == 1 ? "entry is" : "entries are") not chained yet\(age), and not "
          + "covered by this end. Workers chain what is recorded; keep the end again when that is done.\n"
      }
      return try session.show(
        [
          "place": .string(place.description), "at": .time(Double(end.at)),
          "installation": .string(end.installation), "end": .string(end.mark.description),
          "unchained": unchained.map { .count($0.count) } ?? .null,
        ], text)
    }
  }
}

/// Keeps the end of the audit outside of the database when a command has moved it.
struct EndKeeper: Sendable {
  private let place: AuditEnds
  private let audit: AuditLog
  private let before: AuditMark?
  private let say: @Sendable (String) -> Void

  /// - Parameters:
  ///   - place: Where it is kept.
  ///   - say: Says that it could not be kept.
  init(_ place: AuditEnds, _ database: ConnectionPool, say: @escaping @Sendable (String) -> Void) async {
    self.place = place
    self.say = say
    audit = AuditLog(database)
    before = try? await audit.end().mark
  }

  /// Keeps the end if it is another than before. Where that fails, what the command did stays done, it is said, and
  /// what would have ended with 0 ends with 8.
  func finish(_ code: ExitCode) async -> ExitCode {
    do {
      let end = try await audit.end()
      if end.mark != before { try await Self.keep(end, in: place) }
      return code
    } catch {
      say(
        "The command has done its work, but the end of the audit could not be kept (audit-ends): "
          + printable("\(error)"))
      return code == .done ? .endNotKept : code
    }
  }

  static func keep(_ end: KeptEnd, in place: AuditEnds) async throws {
    try await onThread { () throws(SystemError) in try place.keep(end) }
  }
}

/// Runs what blocks on a thread of its own.
func onThread<R: Sendable>(_ body: @escaping @Sendable () throws(SystemError) -> R) async throws -> R {
  let result = await HelperThread.value { () -> Result<R, SystemError> in
    do throws(SystemError) { return .success(try body()) } catch { return .failure(error) }
  }
  guard let result else { throw CommandFailure(.tryLater, "the system has no thread left") }
  return try result.get()
}

extension ValueFormat where Value == AuditEnds {
  /// A file, `journal` or `journal:NAME`.
  static var auditEnds: Self {
    ValueFormat(
      name: "FILE|journal", completion: .files,
      read: { AuditEnds($0) },
      else: "is no place for ends; give a file, journal, or journal:NAME with small letters, digits, _ and -",
      text: \.description)
  }
}

/// The end of the audit's chain as it was at a moment, kept outside of the database.
public struct KeptEnd: Sendable, Equatable {
  /// When it was kept, in seconds since 1970, by the clock of the machine that kept it.
  public let at: Int64
  /// The number of the installation.
  let installation: String
  /// The last entry, its hash, and the oldest entry at that time.
  let mark: AuditMark

  /// An end with its parts.
  init(at: Int64, installation: String, mark: AuditMark) {
    self.at = at
    self.installation = installation
    self.mark = mark
  }

  /// Reads a line as `line` writes it; nil for anything else.
  init?(_ line: String) {
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard words.count == 3, let at = WrittenTime(words[0])?.secondsSince1970,
      words[1].utf8.count == 36, words[1].utf8.allSatisfy({ "0123456789abcdef-".utf8.contains($0) }),
      let mark = AuditMark(words[2])
    else { return nil }
    self.init(at: Int64(at), installation: words[1], mark: mark)
  }

  /// Time, installation and mark: `2026-11-23T06:30:00Z 3f0c… 812:9f86…:1:1795255200`.
  public var line: String { "\(time) \(installation) \(mark)" }

  /// When it was kept, as people read it.
  var time: String { UnixTime(seconds: at).rfc3339Seconds }
}

/// What is kept of an installation's ends, as it was read.
public struct KeptEnds: Sendable, Equatable {
  /// The ends, in the order in which they were kept.
  let ends: [KeptEnd]
  /// How many lines are none.
  let otherLines: Int

  init(_ lines: [String]) {
    ends = lines.compactMap(KeptEnd.init)
    otherLines = lines.count - ends.count
  }
}
