import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("Fair share in seeded histories")
struct FairShareHistories {
  private static let lane: Int16 = 5

  private static func queue(_ costs: [Int64], _ months: Months) -> QueueModel {
    var plans: [String: QueueModel.Plan] = [:]
    for (number, cost) in costs.enumerated() {
      plans["plan-\(number)"] = QueueModel.Plan(cost: cost, limits: [.init(from: .min, value: nil)])
    }
    var model = QueueModel(
      now: months.start(of: QueueModel.months.lowerBound), partitions: QueueModel.months,
      maxWaitingPerUser: nil, plans: plans)
    for number in costs.indices {
      model.addUser(Int64(number), "user-\(number)", plan: "plan-\(number)", months: months)
    }
    return model
  }

  @Test("users who always have jobs waiting get shares by their costs, to within a job of each")
  func shares() async throws {
    let months = try #require(try await Fleet.months().first)
    try simulate(200) { random in
      let costs = (0..<Int.random(in: 2...4, using: &random)).map { _ in
        Int64.random(in: 1...9, using: &random) * 500
      }
      var model = Self.queue(costs, months)
      var numbers: Int64 = 0
      func submit(_ user: Int, _ count: Int) {
        let given = (1...Int64(count)).map { numbers + $0 }
        numbers += Int64(count)
        _ = model.submit(Ask("user-\(user)") * count, maxAttempts: 3, numbers: given)
      }
      for user in costs.indices { submit(user, 8) }
      var served = Array(repeating: Int64(0), count: costs.count)
      var waiting = Array(repeating: 8, count: costs.count)
      for lease in 0..<60 {
        let claimed = model.claim(
          worker: 1, firstLease: Int64(lease), [.init(lane: Self.lane, from: 0, limit: 1)], count: 1,
          leaseDuration: 1000)
        guard let user = claimed.first.map({ Int($0.user) }) else {
          throw BrokenRule("jobs wait and none is claimed")
        }
        served[user] += costs[user]
        waiting[user] -= 1
        // In lots of any size; but nobody runs dry.
        if waiting[user] < 3 {
          let count = Int.random(in: 1...9, using: &random)
          submit(user, count)
          waiting[user] += count
        }
        if Int.random(in: 0..<5, using: &random) == 0 {
          model.now += 3000
          _ = model.tick([Self.lane: claimed[0].virtualTime])
        }
        for (one, other) in zip(served.indices, served.indices.dropFirst()) {
          let apart = abs(served[one] - served[other])
          try hold(apart <= costs[one] + costs[other], "users of costs \(costs) are served \(served)")
        }
      }
    }
  }

  @Test("who submits one job waits for at most one of each other user, however many those have waiting")
  func newcomer() async throws {
    let months = try #require(try await Fleet.months().first)
    try simulate(200) { random in
      let users = Int.random(in: 2...5, using: &random)
      var model = Self.queue(Array(repeating: 1000, count: users + 1), months)
      var numbers: Int64 = 0
      for user in 0..<users {
        let count = Int.random(in: 20...40, using: &random)
        let given = (1...Int64(count)).map { numbers + $0 }
        numbers += Int64(count)
        _ = model.submit(Ask("user-\(user)") * count, maxAttempts: 3, numbers: given)
      }
      var lease: Int64 = 0
      func claim() -> Claimed? {
        lease += 1
        return model.claim(
          worker: 1, firstLease: lease, [.init(lane: Self.lane, from: 0, limit: 1)], count: 1,
          leaseDuration: 1000
        ).first
      }
      for _ in 0..<Int.random(in: 0...60, using: &random) {
        guard let last = claim() else { return }
        model.now += 1000
        _ = model.tick([Self.lane: last.virtualTime])
      }
      _ = model.submit([Ask("user-\(users)")], maxAttempts: 3, numbers: [numbers + 1])
      var before = 0
      while let next = claim(), next.user != Int64(users) { before += 1 }
      try hold(before <= users, "\(before) jobs of \(users) users ran before the newcomer's one")
    }
  }
}
