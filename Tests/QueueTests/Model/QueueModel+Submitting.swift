import QueueTestSupport

extension QueueModel {
  /// What is known of one job of a submit.
  private struct Item {
    let number: Int64
    let user: User?
    let lane: Int16
    let kind: Int16
    let period: Int16?
    let quota: Int?
    let cost: Int64
    let runAt: Time?
    let expires: Time?
    let key: String?
    let content: String
    /// Why it is refused.
    var reason: String?
    /// The job that it repeats.
    var twin: (job: Int64, period: Int16?)?
    /// The place in the call of the job that it repeats.
    var leader: Int?
    var used: Int?

    var isAsking: Bool { reason == nil && twin == nil }
  }

  /// Submits jobs in one call; `numbers` are those that the database gives to each, refused ones too.
  mutating func submit(_ asks: [Ask], maxAttempts: Int, numbers given: [Int64]) -> [Answer] {
    var items = zip(asks, given).map { item($0, number: $1) }
    judgeKeys(&items)
    judgeWaiting(&items)
    judgeQuota(&items)
    // What repeats a job of this call shares its fate.
    for index in items.indices {
      if let leader = items[index].leader {
        items[index].reason = items[index].reason ?? items[leader].reason
      }
    }
    create(items.filter(\.isAsking), maxAttempts: maxAttempts)
    return items.map { item in
      let isRefused = item.reason != nil
      return Answer(
        outcome: isRefused ? "refused" : item.twin == nil ? "created" : "duplicate", reason: item.reason,
        job: isRefused ? nil : item.twin?.job ?? item.number,
        period: isRefused ? nil : item.twin == nil ? item.period : item.twin?.period,
        limit: item.user == nil ? nil : item.quota, used: item.used)
    }
  }

  private func item(_ ask: Ask, number: Int64) -> Item {
    let user = numbers[ask.user].flatMap { users[$0] }
    let isSound = [1, 2].contains(ask.kind) && (0...2).contains(ask.priority)
    let at = ask.at.map { Time(($0 * 1000).rounded()) }
    let expires = ask.expires.map { Time(($0 * 1000).rounded()) }
    let runFrom = max(at ?? now, now)
    let period = isSound ? user?.months.label(at: runFrom) : nil
    let limit = isSound ? user.map { self.limit(of: $0, at: runFrom) } : nil
    // Of what cannot be judged nothing is looked up, and no limit told.
    var item = Item(
      number: number, user: isSound ? user : nil, lane: ask.kind * 4 + ask.priority, kind: ask.kind,
      period: period,
      quota: limit == nil ? 0 : limit?.limit, cost: limit?.cost ?? 0, runAt: runFrom > now ? runFrom : nil,
      expires: expires, key: isSound && user != nil ? ask.key : nil, content: "\(ask.image) \(ask.kind)")
    if !isSound {
      item.reason = "bad_argument"
    } else if user == nil {
      item.reason = "unknown_user"
    } else if let expires, expires <= runFrom {
      item.reason = "expired"
    } else if let period, !partitions.contains(period) {
      item.reason = "no_partition"
    }
    return item
  }

  /// A key that is there already, or comes twice in the call: with the same content a duplicate, whatever else
  /// would refuse it; with other content a conflict.
  private func judgeKeys(_ items: inout [Item]) {
    var first: [Key: Int] = [:]
    for (index, item) in items.enumerated() where item.reason == nil {
      guard let user = item.user, let key = item.key else { continue }
      let key2 = Key(user: user.number, key: key)
      if first[key2] == nil { first[key2] = index }
    }
    let before = items
    for index in items.indices {
      guard let user = items[index].user, let name = items[index].key else { continue }
      let key = Key(user: user.number, key: name)
      let twin: (job: Int64, period: Int16?, content: String)
      if let there = keys[key] {
        twin = (there.job, there.period, there.content)
      } else if let leader = first[key], leader < index {
        twin = (before[leader].number, before[leader].period, before[leader].content)
        items[index].leader = leader
      } else {
        continue
      }
      let isSame = twin.content == items[index].content
      items[index].reason = isSame ? nil : "key_conflict"
      items[index].twin = isSame ? (twin.job, twin.period) : nil
    }
  }

  /// How far a user's last jobs lie behind the lanes is how many of them wait, and those scheduled besides; who would be
  /// refused by that is looked at more closely.
  private mutating func judgeWaiting(_ items: inout [Item]) {
    guard let maxWaitingPerUser else { return }
    let asking = items.indices.filter { items[$0].isAsking }
    for (user, indices) in Dictionary(grouping: asking, by: { items[$0].user?.number ?? 0 }) {
      let cost = indices.map { items[$0].cost }.max() ?? 1
      let own = shares.filter { $0.key.user == user }
      let behind = own.reduce(Int64(0)) { $0 + max(0, $1.value.last - (clocks[$1.key.lane]?.now ?? 0)) }
      let later = own.reduce(Int64(0)) { $0 + Int64($1.value.later) }
      guard behind / cost + later + Int64(indices.count) > maxWaitingPerUser else { continue }
      let waiting = waiting(of: user, cost: cost)
      for (place, index) in indices.enumerated() where waiting + Int64(place) + 1 > maxWaitingPerUser {
        items[index].reason = "waiting_limit"
      }
    }
  }

  /// How many jobs of a user wait, where the marks may be behind: a source counts only while one of its jobs is seen
  /// waiting; else it begins anew where the lane is.
  private mutating func waiting(of user: Int64, cost: Int64) -> Int64 {
    applyFreed(user, source: 0)
    var waiting: Int64 = 0
    for (place, share) in shares where place.user == user {
      waiting += Int64(share.later)
      let clock = clocks[place.lane]
      let laneNow = clock?.now ?? 0
      guard share.last > laneNow else { continue }
      let rows = ready[place.lane, default: []].filter { $0.virtualTime >= clock?.scanFrom ?? 0 }
      let isSeen = rows.contains {
        ($0.virtualTime, $0.job) <= share.tail && jobs[$0.job]?.user == user
      }
      if isSeen {
        waiting += max(0, share.last - max(laneNow, rows.first?.virtualTime ?? 0)) / cost
      } else if place.source == 0 {
        shares[place]?.last = laneNow
      }
    }
    return waiting
  }

  private mutating func judgeQuota(_ items: inout [Item]) {
    struct Group: Hashable {
      let account: Account
      let quota: Int?
    }
    func group(_ item: Item) -> Group? {
      guard let user = item.user, let period = item.period, item.isAsking else { return nil }
      return Group(account: Account(user: user.number, period: period), quota: item.quota)
    }
    var members: [Group: [Int]] = [:]
    for index in items.indices {
      if let group = group(items[index]) { members[group, default: []].append(index) }
    }
    let groups = members.sorted { left, right in
      let (a, b) = (left.key.account, right.key.account)
      return (a.user, Int64(a.period), Int64(left.value[0])) < (
        b.user, Int64(b.period), Int64(right.value[0])
      )
    }
    let dealt = deal(
      groups.map { ($0.key.account, $0.key.quota, $0.value.count) }, countRefused: true)
    for (group, units) in zip(groups, dealt) {
      for (place, index) in group.value.enumerated() {
        items[index].used = units.used
        if place >= units.granted { items[index].reason = "quota" }
      }
    }
  }

  private mutating func create(_ items: [Item], maxAttempts: Int) {
    struct Target: Hashable {
      let user: Int64
      let lane: Int16
    }
    func target(_ item: Item) -> Target? {
      item.user.map { Target(user: $0.number, lane: item.lane) }
    }
    var next: [Target: Int64] = [:]
    for (target, group) in Dictionary(grouping: items, by: target) {
      guard let target else { continue }
      let atOnce = group.filter { $0.runAt == nil }
      next[target] = takePlaces(
        atOnce.count, of: target.user, lane: target.lane, source: 0, cost: atOnce.map(\.cost).max() ?? 0,
        tail: atOnce.map(\.number).max(), later: group.count - atOnce.count)
    }
    for item in items {
      guard let user = item.user, let period = item.period, let target = target(item) else { continue }
      let virtualTime = item.runAt == nil ? next[target] ?? 0 : -1
      jobs[item.number] = Job(
        number: item.number, user: user.number, kind: item.kind, homeLane: item.lane, period: period,
        virtualTime: virtualTime, expires: item.expires, maxAttempts: maxAttempts, key: item.key)
      if let key = item.key {
        keys[Key(user: user.number, key: key)] = KeyedJob(
          job: item.number, period: period, content: item.content)
      }
      if let runAt = item.runAt {
        schedule(item.number, lane: item.lane, at: runAt, Tries(), isCounted: true)
      } else {
        queue(item.number, lane: item.lane, at: virtualTime, Tries(), source: 0)
        next[target] = virtualTime + item.cost
      }
    }
  }
}
