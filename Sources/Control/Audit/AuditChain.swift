import FoundationEssentials
import PostgreSQL
import Support

/// Judges whether the chain of the audit is whole, entry by entry. It computes each hash itself, so that nothing depends on
/// a function that somebody could have replaced in the database.
struct AuditChain {
  /// Where the chain ends, and where it begins since the oldest entries were purged.
  struct Head {
    /// The number of the installation.
    let installation: String
    let id: Int64
    let hash: [UInt8]
    let first: Int64
    let firstPrevious: [UInt8]
  }

  /// An entry as it is stored.
  struct Entry {
    let id: Int64
    /// In microseconds since 1970; nil for what is no time.
    let at: Int64?
    let role: String
    let user: String?
    let host: String?
    let address: String?
    let action: String
    let object: String
    let reason: String?
    /// As PostgreSQL writes jsonb.
    let detail: String?
    let previous: [UInt8]
    let hash: [UInt8]
  }

  /// What a purge of the audit says of itself.
  private struct Purge: Decodable {
    let first: Int64?
    let previous: String?
    let clock: String?
    let until: String?
    let newest: String?
  }

  private let head: Head?
  private let expected: AuditMark?
  private let kept: [KeptEnd]
  private let now: Double
  private let limit: Int

  private var faults: [AuditVerdict.Fault] = []
  private var last: (id: Int64, hash: [UInt8])?
  private var oldest: AuditMark.Oldest?
  /// The hashes of the entries that the head and the marks name.
  private var named: [Int64: [UInt8]] = [:]
  private let wanted: Set<Int64>
  /// Whether a purge recorded the chain's beginning.
  private var isBeginningTold = false

  /// An entry is kept for a year at least; a leap year's day is not ours to argue about.
  private static let year = 365.0 * 86_400
  /// What is chained after an end was kept may have been written before, by a transaction that was open for so long.
  private static let longest = 7.0 * 86_400

  /// - Parameters:
  ///   - head: nil when that is missing.
  ///   - expected: an end that has to be an entry still.
  ///   - kept: ends that were kept outside of the database; each is an entry still, or was purged in its time.
  ///   - now: the server's time, in seconds since 1970.
  ///   - limit: how many faults are named at most.
  init(_ head: Head?, expecting expected: AuditMark?, kept: [KeptEnd] = [], now: Double, limit: Int) {
    self.head = head
    self.expected = expected
    self.kept = kept
    wanted = Set(kept.map(\.mark.id) + [head?.id, expected?.id].compactMap { $0 })
    self.now = now
    self.limit = limit
  }

  /// The SHA-256 of the hash before it and of a JSON array of what the entry says, as PostgreSQL writes jsonb.
  static func hash(of entry: Entry) -> [UInt8] {
    var text = entry.previous
    text += Array("[\(entry.id), \(entry.at.map(String.init) ?? "null"), ".utf8)
    for value in [
      entry.role, entry.user, entry.host, entry.address, entry.action, entry.object, entry.reason,
    ] {
      if let value { quote(value, into: &text) } else { text += Array("null".utf8) }
      text += Array(", ".utf8)
    }
    text += Array((entry.detail ?? "null").utf8)
    text.append(UInt8(ascii: "]"))
    return SHA256.digest(of: text)
  }

  /// A string as PostgreSQL writes it in JSON.
  private static func quote(_ value: String, into text: inout [UInt8]) {
    text.append(UInt8(ascii: "\""))
    for byte in value.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
      case 0x08: text += Array("\\b".utf8)
      case 0x0C: text += Array("\\f".utf8)
      case 0x0A: text += Array("\\n".utf8)
      case 0x0D: text += Array("\\r".utf8)
      case 0x09: text += Array("\\t".utf8)
      case ..<0x20: text += Array("\\u00\(Hexadecimal.text(of: [byte]))".utf8)
      default: text.append(byte)
      }
    }
    text.append(UInt8(ascii: "\""))
  }

  /// Looks at the next entry; they come by their numbers.
  mutating func add(_ entry: Entry) {
    if Self.hash(of: entry) != entry.hash {
      report(entry.id, "the entry was changed: its hash is not that of what it says")
    }
    if let due = last.map({ $0.id + 1 }) ?? head?.first, let before = last?.hash ?? head?.firstPrevious {
      if entry.id > due {
        report(
          due,
          entry.id == due + 1
            ? "the entry is missing" : "the entries \(due) to \(entry.id - 1) are missing")
      } else if entry.id < due {
        report(entry.id, "the entry was put in: the chain begins at \(due)")
      } else if entry.previous != before {
        report(entry.id, "the entry does not follow the one before it")
      }
    }
    if let head, entry.id > head.id { report(entry.id, "the entry was put in: the head ends at \(head.id)") }
    if entry.action == "purge", entry.object == "audit" { judge(purge: entry) }
    if wanted.contains(entry.id) { named[entry.id] = entry.hash }
    if oldest == nil, let at = entry.at { oldest = AuditMark.Oldest(id: entry.id, at: at / 1_000_000) }
    last = (entry.id, entry.hash)
  }

  /// A purge removes nothing that is younger than a year, and says so.
  private mutating func judge(purge entry: Entry) {
    let purge = entry.detail.flatMap { try? JSONDecoder().decode(Purge.self, from: Data($0.utf8)) }
    if let purge, let head, purge.first == head.first,
      purge.previous == Hexadecimal.text(of: head.firstPrevious)
    {
      isBeginningTold = true
    }
    guard let clock = Self.seconds(purge?.clock), let until = Self.seconds(purge?.until),
      let newest = Self.seconds(purge?.newest), let at = entry.at.map({ Double($0) / 1_000_000 })
    else { return report(entry.id, "the purge does not say what it removed") }
    // The clock is read when the purge begins, and the entry written at its end.
    if newest > until || until > clock - Self.year || !((clock - 60)...(clock + 86_400)).contains(at) {
      report(entry.id, "the purge removed entries that were younger than a year")
    }
  }

  private static func seconds(_ text: String?) -> Double? {
    text.flatMap { try? Date($0, strategy: .iso8601) }?.timeIntervalSince1970
  }

  private mutating func report(_ id: Int64?, _ message: String) {
    guard faults.count < limit else { return }
    faults.append(AuditVerdict.Fault(id: id, message: message))
  }

  /// What was found when the last entry has been looked at.
  ///
  /// - Parameters:
  ///   - pending: how many entries are not chained yet, and for how many seconds the oldest.
  ///   - others: what else is wrong: with the chain as a whole, and not with an entry.
  ///   - isCompared: whether it was compared with ends that were kept.
  func verdict(pending: (count: Int, age: Double?), others: [String], isCompared: Bool = false)
    -> AuditVerdict
  {
    var all = faults + others.map { AuditVerdict.Fault(id: nil, message: $0) }
    if let head {
      all += faults(of: head)
    } else {
      all.append(AuditVerdict.Fault(id: nil, message: "the head of the chain is missing"))
    }
    all.sort { ($0.id ?? .min, $0.message) < ($1.id ?? .min, $1.message) }
    let end = head.map { AuditMark(id: $0.id, hash: Hexadecimal.text(of: $0.hash), oldest: oldest) }
    return AuditVerdict(
      first: head?.first ?? 1, end: end, pending: pending.count, oldestPending: pending.age,
      kept: isCompared ? AuditVerdict.Kept(kept) : nil,
      faults: Array(all.prefix(limit)))
  }

  private func faults(of head: Head) -> [AuditVerdict.Fault] {
    var found: [AuditVerdict.Fault] = []
    func report(_ id: Int64, _ message: String) { found.append(AuditVerdict.Fault(id: id, message: message)) }
    let end = last?.id ?? head.first - 1
    if end < head.id {
      report(end + 1, "the entries from here to \(head.id) are missing: the head names them")
    }
    let hash = head.id == head.first - 1 ? head.firstPrevious : named[head.id]
    if let hash, hash != head.hash { report(head.id, "the head has another hash than the last entry") }
    if head.first != 1, !isBeginningTold {
      report(head.first, "no purge recorded that the entries before this one were removed")
    }
    found += keptFaults(head)
    guard let expected else { return found }
    if storedHash(expected.id, head) != expected.hash {
      report(
        expected.id,
        expected.id > head.id
          ? "the entry that was kept is not there: the chain ends at \(head.id)"
          : expected.id < head.first - 1
            ? "the entry that was kept has been purged: nothing can be said of it"
            : "the entry is another than the one that was kept")
    }
    if let early = removedEarly(expected, head) { found.append(early) }
    return found
  }

  /// The hash of an entry that a mark names, in hexadecimal; nil where there is no such entry.
  private func storedHash(_ id: Int64, _ head: Head) -> String? {
    (id == head.first - 1 ? head.firstPrevious : named[id]).map(Hexadecimal.text(of:))
  }

  private func removedEarly(_ mark: AuditMark, _ head: Head) -> AuditVerdict.Fault? {
    guard let oldest = mark.oldest, oldest.id < head.first, Double(oldest.at) > now - Self.year else {
      return nil
    }
    return removedEarly(from: oldest.id, head)
  }

  private func removedEarly(from id: Int64, _ head: Head) -> AuditVerdict.Fault {
    AuditVerdict.Fault(
      id: id, message: "the entries from here to \(head.first - 1) were removed, and were younger than a year"
    )
  }

  /// What does not fit the ends that were kept: of each entry the first fault, up to the limit.
  private func keptFaults(_ head: Head) -> [AuditVerdict.Fault] {
    var found: [Int64: AuditVerdict.Fault] = [:]
    for end in kept where found.count < limit {
      for fault in faults(of: end, head) where found[fault.id ?? 0] == nil { found[fault.id ?? 0] = fault }
    }
    return Array(found.values)
  }

  private func faults(of end: KeptEnd, _ head: Head) -> [AuditVerdict.Fault] {
    var found: [AuditVerdict.Fault] = []
    let mark = end.mark
    func report(_ what: String) { found.append(AuditVerdict.Fault(id: mark.id, message: what)) }
    if mark.id > head.id {
      report("the entry was kept on \(end.time) and is not there: the chain ends at \(head.id)")
    } else if mark.id >= head.first - 1, storedHash(mark.id, head) != mark.hash {
      report("the entry is another than the one that was kept on \(end.time)")
    }
    if let early = removedEarly(mark, head) { found.append(early) }
    // What came after it is younger than it is, but for what was written long before it was chained.
    if mark.id + 1 < head.first, Double(end.at) - Self.longest > now - Self.year {
      found.append(removedEarly(from: mark.id + 1, head))
    }
    return found
  }
}

extension AuditChain.Head {
  /// Reads the row of `sql/audit/head.sql`; nil when there is no head.
  init?(_ row: Row) throws {
    guard let id = try row.int64IfPresent("id") else { return nil }
    self.init(
      installation: try row.string("installation"), id: id, hash: try row.bytes("hash"),
      first: try row.int64("first_id"),
      firstPrevious: try row.bytes("first_previous"))
  }
}

extension AuditChain.Entry {
  /// Reads a row of `sql/audit/entries.sql`.
  init(_ row: Row) throws {
    let at = try row.timestamp("at")
    self.init(
      id: try row.int64("id"), at: at.isFinite ? at.microsecondsSince1970 : nil, role: try row.string("role"),
      user: try row.stringIfPresent("os_user"), host: try row.stringIfPresent("host"),
      address: try row.stringIfPresent("address"), action: try row.string("action"),
      object: try row.string("object"), reason: try row.stringIfPresent("reason"),
      detail: try row.stringIfPresent("detail"), previous: try row.bytes("previous"),
      hash: try row.bytes("hash"))
  }
}
