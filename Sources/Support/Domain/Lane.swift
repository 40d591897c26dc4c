/// One of the queue's lines: a type of analysis and a priority, or a type's quarantine.
///
/// Quarantined jobs are jobs that were twice in a lease whose worker was lost. They run one at a time in a
/// process, so that a job that kills its worker consumes only its own attempts.
public struct Lane: Hashable, Sendable {
  /// The lane's number in the database: four for each type.
  public let code: Int16

  /// The lane of a type and a priority.
  public init(_ kind: AnalysisKind, _ priority: Priority) {
    code = kind.code * 4 + priority.slot
  }

  /// The lane in which a type's quarantined jobs run.
  public static func quarantine(of kind: AnalysisKind) -> Lane {
    Lane(uncheckedCode: kind.code * 4 + 3)
  }

  /// Every lane of a type.
  public static func all(of kind: AnalysisKind) -> [Lane] {
    Priority.allCases.map { Lane(kind, $0) } + [.quarantine(of: kind)]
  }

  /// The lane with a number of the database; nil when its type is unknown.
  public init?(code: Int16) {
    guard code >= 0, AnalysisKind(code: code / 4) != nil else { return nil }
    self.code = code
  }

  private init(uncheckedCode: Int16) {
    code = uncheckedCode
  }

  /// The type whose jobs wait here.
  public var kind: AnalysisKind? { AnalysisKind(code: code / 4) }

  /// The priority; nil for the quarantine lane.
  public var priority: Priority? { Priority.allCases.first { $0.slot == code % 4 } }

  /// Whether jobs here run one at a time in a process.
  public var isQuarantine: Bool { code % 4 == 3 }
}

extension Lane: CustomStringConvertible {
  /// For instance `throat/urgent` or `ear/quarantine`.
  public var description: String {
    "\(kind?.rawValue ?? "unknown")/\(priority?.rawValue ?? "quarantine")"
  }
}

/// How soon a job is wanted, compared with other jobs of its type.
public enum Priority: String, Sendable, CaseIterable, Codable {
  case urgent
  /// What a submit gets that says nothing.
  case normal
  /// Behind the others, with a small share of its own so that it is never starved.
  case bulk

  /// The priority's position in a lane's number.
  public var slot: Int16 {
    switch self {
    case .urgent: 0
    case .normal: 1
    case .bulk: 2
    }
  }
}

/// How many claims of a round begin with each priority while all of them have jobs: the database's setting
/// `lane_shares`, for instance `5,2,1` of eight for urgent, normal and bulk jobs.
public struct LaneShares: Sendable, Equatable, CustomStringConvertible {
  /// Five, two and one of eight.
  public static let usual = LaneShares(uncheckedShares: [5, 2, 1])

  /// By priority, in the order of urgency.
  private let shares: [Int]
  /// The priority with which each claim of a round begins: a priority's turns are spread over the round.
  public let turns: [Priority]

  /// Reads the setting's text; nil unless it is a number from 1 to 99 for each priority.
  public init?(_ text: String) {
    let shares = text.split(separator: ",", omittingEmptySubsequences: false).compactMap { Int($0) }
    guard shares.count == Priority.allCases.count, shares.allSatisfy({ (1...99).contains($0) }),
      text == shares.map(String.init).joined(separator: ",")
    else { return nil }
    self.init(uncheckedShares: shares)
  }

  private init(uncheckedShares shares: [Int]) {
    self.shares = shares
    // Each turn everybody gains their share, and who has most gives the whole round for it.
    let round = shares.reduce(0, +)
    var credit = shares.map { _ in 0 }
    turns = (0..<round).map { _ in
      for index in credit.indices { credit[index] += shares[index] }
      let next = credit.indices.max { credit[$0] < credit[$1] || (credit[$0] == credit[$1] && $0 > $1) } ?? 0
      credit[next] -= round
      return Priority.allCases[next]
    }
  }

  /// The share of a lane. Quarantined jobs, and what is for nobody in particular, have that of bulk.
  @usableFromInline func share(of lane: Lane?) -> Int {
    shares[Int(lane?.priority?.slot ?? Priority.bulk.slot)]
  }

  /// The setting's text.
  public var description: String { shares.map(String.init).joined(separator: ",") }
}

/// A calendar month in which jobs are counted, as the label that a job carries from its submit on.
///
/// Which moments it holds depends on the user's billing zone and is the database's to compute; here it
/// is only a label.
public struct Period: Hashable, Sendable, Codable, Comparable, CustomStringConvertible {
  /// Year times twelve plus the month, counted from zero: 2026-11 is 24322.
  public let label: Int16

  /// The month with a label; nil outside the years 2000 to 2700.
  public init?(label: Int16) {
    guard (2000 * 12..<2700 * 12).contains(Int(label)) else { return nil }
    self.label = label
  }

  /// The month of a year; nil when the month is not from 1 to 12 or the year not from 2000 to 2699.
  public init?(year: Int, month: Int) {
    guard (1...12).contains(month), (2000..<2700).contains(year) else { return nil }
    self.init(label: Int16(year * 12 + month - 1))
  }

  /// Reads `YYYY-MM`; nil for anything else.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count == 4, parts[1].count == 2,
      parts.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }),
      let year = Int(parts[0]), let month = Int(parts[1])
    else { return nil }
    self.init(year: year, month: month)
  }

  /// The year.
  public var year: Int { Int(label) / 12 }

  /// The month, from 1 to 12.
  public var month: Int { Int(label) % 12 + 1 }

  /// The month after this; nil at the end of the years that are known.
  public var next: Period? { Period(label: label + 1) }

  /// The month before this; nil at the beginning of the years that are known.
  public var previous: Period? { Period(label: label - 1) }

  /// The month as `YYYY-MM`.
  public var description: String {
    "\(year)-\(month < 10 ? "0" : "")\(month)"
  }

  /// Orders months by time.
  public static func < (left: Period, right: Period) -> Bool {
    left.label < right.label
  }
}
