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
