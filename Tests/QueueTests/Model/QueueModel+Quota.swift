extension QueueModel {
  /// Deals units out, group after group, as many of the wanted as the limits allow. Where a limit would be
  /// hit, what is owed to those who ask has ended first.
  mutating func deal(
    _ groups: [(account: Account, quota: Int?, wanted: Int)], countRefused: Bool
  ) -> [(granted: Int, used: Int)] {
    var wanted: [Account: Int] = [:]
    for group in groups { wanted[group.account, default: 0] += group.wanted }
    let isTight = groups.contains { group in
      guard let quota = group.quota else { return false }
      return (usage[group.account]?.used ?? 0) + wanted[group.account, default: 0] > quota
    }
    if isTight { for account in wanted.keys { applyRefunds(account) } }
    return groups.map { group in
      let used = usage[group.account]?.used ?? 0
      let granted = group.quota.map { max(0, min(group.wanted, $0 - used)) } ?? group.wanted
      usage[group.account, default: Usage()].used += granted
      if countRefused { usage[group.account, default: Usage()].refused += group.wanted - granted }
      return (granted, used + granted)
    }
  }

  /// Applies the refunds of up to so many users and months, and what so many gave up; answers how many refunds.
  mutating func applyRefunds(limit: Int) -> Int {
    for source in [0, 1] as [Int16] {
      let given = freed.keys.filter { $0.source == source }.sorted { ($0.user, $0.lane) < ($1.user, $1.lane) }
      for place in given.prefix(limit) { applyFreed(place.user, source: source, lane: place.lane) }
    }
    let accounts = refunds.keys.sorted { ($0.user, $0.period) < ($1.user, $1.period) }.prefix(limit)
    return accounts.reduce(0) { $0 + applyRefunds($1) }
  }

  /// A unit is owed for a job that ended without a result.
  mutating func owe(_ job: Int64, _ account: Account) {
    refunds[account, default: []].append(job)
  }

  @discardableResult
  private mutating func applyRefunds(_ account: Account) -> Int {
    guard let owed = refunds.removeValue(forKey: account)?.count else { return 0 }
    usage[account, default: Usage()].used -= owed
    usage[account, default: Usage()].refunded += owed
    return owed
  }
}
