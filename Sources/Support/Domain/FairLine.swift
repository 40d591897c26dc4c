/// What waits inside a program, served as the queue serves jobs: by lane, and by user in turn within a lane.
///
/// What counts is the cost of what was served, not how many there were. While several lanes wait, each gets of it by its
/// share, and each user of a lane an equal part. Nobody saves up: who had nothing waiting begins where the others are,
/// and is next.
///
/// It can be inlined, since a worker asks it twice for each job: what a module compiles for elements of any type is ten
/// times slower.
public struct FairLine<Element: Sendable>: Sendable {
  @usableFromInline struct Waiting: Sendable {
    @usableFromInline let element: Element
    @usableFromInline let cost: Int
    @usableFromInline let number: Int

    @inlinable init(_ element: Element, _ cost: Int, _ number: Int) {
      (self.element, self.cost, self.number) = (element, cost, number)
    }
  }

  @usableFromInline struct UserLine: Sendable {
    /// How much the user has had: the virtual time of fair queueing.
    @usableFromInline var mark = 0.0
    @usableFromInline var waiting: [Waiting] = []

    @inlinable init() {}
  }

  @usableFromInline struct LaneLine: Sendable {
    @usableFromInline var mark = 0.0
    /// Where the user was who was served last.
    @usableFromInline var now = 0.0
    @usableFromInline var count = 0
    @usableFromInline var users: [UserKey?: UserLine] = [:]

    @inlinable init() {}
  }

  /// One that is served next.
  public struct Next: Sendable {
    /// What it is.
    public let element: Element
    @usableFromInline let lane: Lane?
    @usableFromInline let user: UserKey?
    @usableFromInline let index: Int

    @inlinable init(_ element: Element, _ lane: Lane?, _ user: UserKey?, _ index: Int) {
      (self.element, self.lane, self.user, self.index) = (element, lane, user, index)
    }
  }

  /// How the priorities share what is served.
  public var shares: LaneShares
  @usableFromInline var total = 0

  /// Where the lane was that was served last.
  @usableFromInline var now = 0.0
  @usableFromInline var lanes: [Lane?: LaneLine] = [:]
  @usableFromInline var lastNumber = 0

  /// An empty line.
  public init(shares: LaneShares = .usual) {
    self.shares = shares
  }

  /// How many wait.
  @inlinable public var count: Int { total }

  /// Whether nothing waits.
  @inlinable public var isEmpty: Bool { total == 0 }

  /// All that waits, in no particular order.
  public var elements: [Element] {
    lanes.values.flatMap { $0.users.values.flatMap { $0.waiting.map(\.element) } }
  }

  /// Puts an element behind the others of its requester.
  ///
  /// - Parameters:
  ///   - requester: For whom it is; all that is for nobody in particular is one requester's.
  ///   - cost: How much of what is shared it will take, in a unit that all of the line have.
  @inlinable public mutating func append(_ element: Element, for requester: Requester?, cost: Int) {
    lastNumber += 1
    total += 1
    lanes[requester?.lane, default: LaneLine()].count += 1
    lanes[requester?.lane]?.users[requester?.user, default: UserLine()].waiting.append(
      Waiting(element, max(cost, 1), lastNumber))
  }

  /// The one that is served next, of those that can be now.
  @inlinable public func next(where canBeServed: (Element) -> Bool = { _ in true }) -> Next? {
    var best: (lane: (Double, Int), user: (Double, Int), next: Next)?
    for (lane, line) in lanes where line.count > 0 {
      // Of lanes that have had the same, the most urgent is first.
      let laneOrder = (max(line.mark, now), lane?.rank ?? .max)
      if let best, best.lane < laneOrder { continue }
      for (user, own) in line.users where !own.waiting.isEmpty {
        let mark = max(own.mark, line.now)
        if let best, best.lane == laneOrder, best.user.0 < mark { continue }
        guard let index = own.waiting.firstIndex(where: { canBeServed($0.element) }) else { continue }
        // Of users who have had the same, the one who came first.
        let userOrder = (mark, own.waiting[index].number)
        if let best, best.lane == laneOrder, best.user < userOrder { continue }
        let next = Next(own.waiting[index].element, lane, user, index)
        best = (laneOrder, userOrder, next)
      }
    }
    return best?.next
  }

  /// Takes one that ``next(where:)`` has just given out of the line; its requester has had its cost.
  @inlinable public mutating func take(_ next: Next) {
    guard let cost = lanes[next.lane]?.users[next.user]?.waiting.remove(at: next.index).cost else { return }
    now = max(lanes[next.lane]?.mark ?? 0, now)
    lanes[next.lane]?.mark = now + Double(cost) / Double(shares.share(of: next.lane))
    let userNow = max(lanes[next.lane]?.users[next.user]?.mark ?? 0, lanes[next.lane]?.now ?? 0)
    lanes[next.lane]?.now = userNow
    lanes[next.lane]?.users[next.user]?.mark = userNow + Double(cost)
    left(1, next.lane)
  }

  /// Takes the one that is served next, of those that can be now.
  @inlinable public mutating func popFirst(where canBeServed: (Element) -> Bool = { _ in true }) -> Element? {
    guard let next = next(where: canBeServed) else { return nil }
    take(next)
    return next.element
  }

  /// Takes those that are not to be served any more; they cost nobody anything.
  @discardableResult
  @inlinable
  public mutating func remove(where isOver: (Element) -> Bool) -> [Element] {
    var removed: [Element] = []
    for (lane, line) in lanes {
      for (user, own) in line.users where own.waiting.contains(where: { isOver($0.element) }) {
        let over = own.waiting.map(\.element).filter(isOver)
        lanes[lane]?.users[user]?.waiting.removeAll { isOver($0.element) }
        left(over.count, lane)
        removed += over
      }
    }
    return removed
  }

  /// So many have left a lane. Users who would begin where the others are anyway are forgotten now and then, and of
  /// those who have nothing waiting all but the 64 who have had the most: most users come once.
  @inlinable mutating func left(_ gone: Int, _ lane: Lane?) {
    total -= gone
    lanes[lane]?.count -= gone
    guard let line = lanes[lane], line.users.count > 2 * (line.count + 64) else { return }
    var rest = line.users.filter { !$0.value.waiting.isEmpty }
    let idle = line.users.filter { $0.value.waiting.isEmpty && $0.value.mark > line.now }
    for (user, own) in idle.sorted(by: { $0.value.mark > $1.value.mark }).prefix(64) { rest[user] = own }
    lanes[lane]?.users = rest
  }
}

extension Lane {
  /// Its place among lanes that have had the same: by priority, and then by type.
  @usableFromInline var rank: Int { Int(code % 4) * 1000 + Int(code) }
}

/// For whom something is done inside a program, and how soon it is wanted.
public struct Requester: Hashable, Sendable {
  /// The lane of the job that it is done for.
  public let lane: Lane
  /// Whose job that is.
  public let user: UserKey

  /// A requester with its parts.
  public init(_ lane: Lane, _ user: UserKey) {
    (self.lane, self.user) = (lane, user)
  }
}

/// A user, by numbers that stay when they are renamed.
public struct UserKey: Hashable, Sendable {
  /// The user's shard.
  public let shard: Int16
  /// Their number in it.
  public let id: Int64

  /// A key with its parts.
  public init(shard: Int16, id: Int64) {
    (self.shard, self.id) = (shard, id)
  }
}
