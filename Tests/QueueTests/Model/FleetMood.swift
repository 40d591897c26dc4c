@testable import Support

/// How a fleet behaves in a history: each mood reaches states that the others come to seldom.
enum FleetMood: CaseIterable {
  case usual
  /// Workers are lost over and over.
  case crashing
  /// Calls fail, and what died is retried.
  case failing
  /// Claims are many and the marks are published often.
  case brisk
  /// Jobs are scheduled, retried and cancelled in masses, and no mark is ever published.
  case wavering

  enum Action: CaseIterable {
    case submit, claim, complete, fail, release, heartbeat, cancel, retryDead, uncancel, rescue, promote,
      applyRefunds, tick, sweep, changePlan, advance
  }

  /// Draws the next action by its weight.
  func next(using random: inout SeededGenerator) -> Action {
    var left = Int.random(in: 0..<weights.reduce(0, +), using: &random)
    for (action, weight) in zip(Action.allCases, weights) {
      left -= weight
      if left < 0 { return action }
    }
    return .advance
  }

  /// One for each action, in their order.
  private var weights: [Int] {
    switch self {
    case .usual: [18, 18, 14, 10, 4, 4, 4, 4, 3, 4, 4, 2, 4, 1, 2, 7]
    case .crashing: [8, 25, 2, 2, 1, 2, 2, 4, 2, 18, 10, 2, 3, 1, 1, 19]
    case .failing: [15, 22, 4, 22, 4, 2, 4, 12, 2, 3, 4, 2, 3, 1, 2, 6]
    case .wavering: [24, 12, 6, 14, 3, 1, 14, 9, 5, 3, 10, 2, 0, 1, 2, 4]
    case .brisk: [14, 20, 12, 4, 2, 2, 3, 2, 2, 3, 4, 2, 14, 2, 2, 14]
    }
  }
}
