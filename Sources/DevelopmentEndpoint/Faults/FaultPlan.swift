/// Decides which failure strikes which try of which key, by calculation alone: the same seed, key and try
/// give the same failure in every run.
public struct FaultPlan: Sendable, Equatable {
  /// A failure that strikes, with a number for the choices within it.
  struct Strike: Equatable {
    let fault: FaultClass
    let choice: UInt64
  }

  /// The number all decisions are drawn from.
  public let seed: UInt64
  /// The failures, in the order of their classes so that the order they were given in does not matter.
  public let rules: [FaultRule]

  /// No failures.
  public static let none = FaultPlan()

  private init() {
    seed = 0
    rules = []
  }

  /// A plan of failures whose shares add up to 1 or less.
  ///
  /// - Throws: `EndpointError` for a share outside 0 to 1, a sum above 1, or a class given twice.
  public init(seed: UInt64, rules: [FaultRule]) throws(EndpointError) {
    var total = 0.0
    var seen: Set<FaultClass> = []
    for rule in rules {
      guard (0...1).contains(rule.share) else {
        throw EndpointError(.configuration, "the share of \(rule.fault.rawValue) is not from 0 to 1")
      }
      guard seen.insert(rule.fault).inserted else {
        throw EndpointError(.configuration, "the failure \(rule.fault.rawValue) is given twice")
      }
      total += rule.share
    }
    guard total <= 1 + 1e-9 else {
      throw EndpointError(.configuration, "the shares of the failures add up to \(total); 1 is the most")
    }
    self.seed = seed
    self.rules = FaultClass.allCases.compactMap { fault in rules.first { $0.fault == fault } }
  }

  var isEmpty: Bool { rules.isEmpty }

  /// The failure of one try of a key, counted from 1, or nil.
  func strike(key: UInt64, attempt: Int) -> Strike? {
    guard !rules.isEmpty else { return nil }
    let drawn = Self.mixed(Self.mixed(seed ^ key) &+ UInt64(truncatingIfNeeded: attempt))
    // The upper 53 bits, as a number from 0 up to but not including 1.
    var position = Double(drawn >> 11) * 0x1p-53
    for rule in rules {
      if position < rule.share {
        if let lastTry = rule.lastTry, attempt > lastTry { return nil }
        return Strike(fault: rule.fault, choice: Self.mixed(drawn))
      }
      position -= rule.share
    }
    return nil
  }

  /// The finalizer of SplitMix64: every bit of the input changes about half of the output's.
  private static func mixed(_ value: UInt64) -> UInt64 {
    var z = value &+ 0x9e37_79b9_7f4a_7c15
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
