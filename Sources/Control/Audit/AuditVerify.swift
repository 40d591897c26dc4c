import CommandLineTool
import PostgreSQL
import Support

enum AuditVerifyCommand {
  static let expect = Option<AuditMark?>(
    "expect", .auditMark,
    help: "An end that was printed before and kept elsewhere; it has to be an entry still.")
  static let expectFrom = Option<AuditEnds?>(
    "expect-from", .auditEnds,
    help: "Where ends were kept, as --audit-ends names it: each has to be an entry still.")
  static let user = Option<String?>(
    "audit-ends-user", .string, valueName: "USER", environment: "ANALYSIS_AUDIT_ENDS_USER",
    key: "audit-ends-user",
    help:
      "Whose ends count with --expect-from, by name or number: the owner of the file, or who sent the entries of "
      + "the journal.")
  static let limit = Option(
    "limit", .int(in: 1...10_000), default: 20, help: "How many faults are named at most.")

  static let command = ControlCommand(
    "verify", abstract: "Verify that no entry was changed, removed or put in.",
    discussion: """
      Every entry holds the hash of the one before it. What does not fit is named, the oldest first, and the exit \
      code is 1. Somebody who may do everything in the database could write the whole chain anew, or cut it off, and \
      only an end that was kept elsewhere shows that. With --expect-from all ends count that --audit-ends kept in a \
      file or in the system's journal; that there is none is a fault. With --expect it is one end that was printed \
      here and kept. What writes the audit is compared too: the functions and triggers of \
      the schema have to be this program's. Entries that are not chained yet are counted; that one waits for longer than \
      a minute is a fault.
      """,
    examples: [
      Example("analysisctl audit verify", "Look at everything, and print the end."),
      Example("analysisctl audit verify --json", "For a program."),
      Example(
        "analysisctl audit verify --expect-from journal --audit-ends-user analysis",
        "Compare it with the ends that the journal has."),
    ],
    inputs: [expect, expectFrom, user, limit],
    exitCodes: [.done, .jobFailed, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let (expected, limit) = (try context[expect], try context[limit])
    let place = try context[expectFrom]
    let owner = try place.map { _ in try number(of: context[user]) }
    return try await context.withSession { session in
      // Before the chain is read: an end that is kept meanwhile may be newer than what is looked at.
      let kept = try await read(place, of: owner)
      if let kept, kept.otherLines > 0 {
        session.view.sayUnlessJSON("Passed over \(kept.otherLines) lines that are no ends of an audit.")
      }
      let verdict = try await AuditLog(session.database).verify(
        expecting: expected, comparedWith: kept, limit: limit)
      try session.view.show(verdict)
      return verdict.faults.isEmpty ? .done : .jobFailed
    }
  }

  private static func number(of user: String?) throws -> UInt32 {
    guard let user else {
      throw CommandFailure.usage(
        "--expect-from needs to know whose ends count",
        advice:
          "Name the user of the system that keeps them: --audit-ends-user, or audit-ends-user = analysis in "
          + "the configuration file.")
    }
    guard let number = ProcessOwner.number(ofUser: user) else {
      throw CommandFailure.usage("this system has no user \(printable(user, limit: 60)) (--audit-ends-user)")
    }
    return number
  }

  private static func read(_ place: AuditEnds?, of user: UInt32?) async throws -> KeptEnds? {
    guard let place, let user else { return nil }
    return try await onThread { () throws(SystemError) in try place.ends(of: user) }
  }
}

extension ValueFormat where Value == AuditMark {
  /// `12:9f86…`: an entry's number and its hash.
  static var auditMark: Self {
    ValueFormat(
      name: "ID:HASH",
      read: { AuditMark($0) },
      else: "is not an end of the audit; give it as verify printed it, a number, a colon and 64 digits",
      text: \.description)
  }
}

extension AuditVerdict: Presentable {
  var json: JSONValue {
    [
      "whole": .bool(faults.isEmpty), "entries": .integer(count),
      "first": .integer(first),
      "end": .text(end?.description), "pending": .count(pending),
      "pending_seconds": oldestPending.map { .integer(Int64($0)) } ?? .null,
      "kept": kept.map { kept in
        [
          "ends": .count(kept.count), "last": .text(kept.last?.mark.description),
          "last_at": .time(kept.last.map { Double($0.at) }),
        ]
      } ?? .null,
      "faults": .array(
        faults.map { ["entry": .count($0.id), "fault": .string($0.message)] }),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let end = self.end.map { "\($0)\n" } ?? ""
    let pending =
      self.pending > 0
      ? ", and \(self.pending) not chained yet, the oldest for \(Moment.age(oldestPending ?? 0))" : ""
    guard !faults.isEmpty else {
      return
        "\(paint.green("The audit is whole")): \(count) entries from \(first) on\(pending). "
        + "Its end:\n" + end + comparison
    }
    let lines = faults.map { fault in
      (fault.id.map { "entry \($0): " } ?? "") + printable(fault.message) + "\n"
    }
    return "\(paint.red("The audit has been changed")):\n" + lines.joined() + "The end that it records:\n"
      + end
      + comparison
  }

  private var comparison: String {
    guard let kept, let last = kept.last else { return "" }
    return
      "Compared with \(kept.count) kept ends; the last is of \(Moment.short(Double(last.at))), at entry "
      + "\(last.mark.id).\n"
  }
}

/// An entry's number and hash: the chain's end, or one that was kept elsewhere.
public struct AuditMark: Sendable, Equatable, CustomStringConvertible {
  /// The oldest entry that there was when an end was printed. It has to be there for a year at least.
  struct Oldest: Sendable, Equatable {
    /// Its number.
    public let id: Int64
    /// When it was written, in whole seconds since 1970.
    public let at: Int64
  }

  /// The entry's number; 0 before the first.
  public let id: Int64
  /// Its hash, as 64 hexadecimal digits.
  let hash: String
  /// The oldest entry at that time; nil when there was none, or none was kept.
  let oldest: Oldest?

  /// A mark with its parts.
  init(id: Int64, hash: String, oldest: Oldest? = nil) {
    self.id = id
    self.hash = hash
    self.oldest = oldest
  }

  /// Reads `ID:HASH` or `ID:HASH:OLDEST:TIME`; nil for anything else.
  init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2 || parts.count == 4, let id = Self.number(parts[0]),
      parts[1].utf8.count == 64, parts[1].allSatisfy(\.isHexDigit), parts[1].utf8.allSatisfy({ $0 < 128 })
    else { return nil }
    var oldest: Oldest?
    if parts.count == 4 {
      guard let first = Self.number(parts[2]), let at = Self.number(parts[3]) else { return nil }
      oldest = Oldest(id: first, at: at)
    }
    self.init(id: id, hash: parts[1].lowercased(), oldest: oldest)
  }

  private static func number(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy { (48...57).contains($0) } ? Int64(text) : nil
  }

  /// `ID:HASH`, and where an oldest entry is known `:OLDEST:TIME`.
  public var description: String {
    "\(id):\(hash)" + (oldest.map { ":\($0.id):\($0.at)" } ?? "")
  }
}

/// What was found when the chain of the audit was verified.
public struct AuditVerdict: Sendable, Equatable {
  /// Something that does not fit.
  public struct Fault: Sendable, Equatable {
    /// The entry; nil for the chain as a whole.
    public let id: Int64?
    /// What is wrong with it.
    public let message: String
  }

  /// The ends of this installation with which it was compared.
  struct Kept: Sendable, Equatable {
    /// How many there are.
    public let count: Int
    /// The latest of them; nil when there is none.
    public let last: KeptEnd?

    /// Ends in any order; of those of one second the latest is that of the latest entry.
    init(_ ends: [KeptEnd]) {
      count = ends.count
      last = ends.max { ($0.at, $0.mark.id) < ($1.at, $1.mark.id) }
    }
  }

  /// The oldest entry that is kept.
  public let first: Int64
  /// The chain's end; nil when that itself is missing.
  public let end: AuditMark?
  /// How many entries are committed and not chained yet.
  var pending = 0
  /// For how many seconds the oldest of them has waited; nil when there is none.
  var oldestPending: Double?
  /// The ends that were kept; nil when it was not compared with any.
  var kept: Kept?
  /// What does not fit, the oldest first; empty when the chain is whole.
  public let faults: [Fault]

  /// How many entries are kept.
  public var count: Int64 { end.map { $0.id - first + 1 } ?? 0 }
}

/// The verification of the audit that somebody began on a page. It reads every entry, for longer than a browser waits:
/// it goes on by itself, one at a time, and its outcome stays until the next one.
actor AuditVerification {
  /// How far it is.
  enum State: Sendable {
    case none
    case running
    case ended(Result<AuditVerdict, any Error>, at: Double)
  }

  private(set) var state = State.none

  /// Begins one, unless one runs.
  ///
  /// - Parameter now: The time at its end, in seconds since 1970.
  func begin(_ database: ConnectionPool, now: @escaping @Sendable () -> Double) {
    if case .running = state { return }
    state = .running
    Task {
      let outcome: Result<AuditVerdict, any Error>
      do { outcome = .success(try await AuditLog(database).verify()) } catch { outcome = .failure(error) }
      self.state = .ended(outcome, at: now())
    }
  }
}
