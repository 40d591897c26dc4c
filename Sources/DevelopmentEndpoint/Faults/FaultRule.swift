/// One failure with the share of the uploads it strikes.
public struct FaultRule: Sendable, Equatable {
  /// The failure.
  public var fault: FaultClass
  /// The share struck, 0 to 1.
  public var share: Double
  /// The last try of a key that can be struck; nil is every try.
  public var lastTry: Int?

  /// A failure with its share (0 to 1), for all tries or for those up to `lastTry`.
  public init(_ fault: FaultClass, share: Double, lastTry: Int? = nil) {
    self.fault = fault
    self.share = share
    self.lastTry = lastTry
  }

  /// Reads `CLASS=SHARE` or `CLASS=SHARE@LASTTRY`, such as `503=0.05` or `reset=1@2`.
  ///
  /// - Throws: `EndpointError` with what is wrong and, for an unknown class, the classes there are.
  public init(parsing text: String) throws(EndpointError) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else {
      throw EndpointError(.configuration, "'\(text)' is no failure; write CLASS=SHARE, such as 503=0.05")
    }
    guard let fault = FaultClass(rawValue: String(parts[0])) else {
      let known = FaultClass.allCases.map(\.rawValue).joined(separator: ", ")
      throw EndpointError(.configuration, "'\(parts[0])' is no class of failure; known are \(known)")
    }
    let amounts = parts[1].split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
    guard let share = Double(String(amounts[0])), (0...1).contains(share) else {
      throw EndpointError(.configuration, "the share of '\(text)' is not a number from 0 to 1")
    }
    var lastTry: Int?
    if amounts.count == 2 {
      guard let number = Int(String(amounts[1])), number >= 1 else {
        throw EndpointError(.configuration, "the last try of '\(text)' is not a number from 1")
      }
      lastTry = number
    }
    self.init(fault, share: share, lastTry: lastTry)
  }
}
