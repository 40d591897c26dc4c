/// What a contender came to in all its runs.
public struct ContenderResult: Sendable {
  /// How it is called.
  public let name: String
  /// What it is to the comparison.
  public let part: Contender.Part
  /// One for each run that succeeded.
  public internal(set) var samples: [Sample] = []
  /// Why a run failed, after which there were no others; nil when none did.
  public internal(set) var failure: String?

  /// What a contender came to.
  public init(name: String, part: Contender.Part, samples: [Sample] = [], failure: String? = nil) {
    self.name = name
    self.part = part
    self.samples = samples
    self.failure = failure
  }

  /// A figure over all runs; nil when no run has it.
  public func summary(_ figure: (Sample) -> Double?) -> Summary? { Summary(samples.compactMap(figure)) }
}

/// What a row came to.
public struct RowResult: Sendable {
  /// The row's name.
  public let name: String
  /// What was measured.
  public let sentence: String
  /// By what the contenders are compared.
  public let headline: Headline
  /// The contenders, the one that the others are set against first.
  public internal(set) var contenders: [ContenderResult] = []
  /// Why the row could not be prepared; nil when it could.
  public internal(set) var failure: String?

  /// What a row came to.
  public init(
    name: String, sentence: String, headline: Headline, contenders: [ContenderResult] = [],
    failure: String? = nil
  ) {
    self.name = name
    self.sentence = sentence
    self.headline = headline
    self.contenders = contenders
    self.failure = failure
  }

  /// Whether everything was measured that was to be.
  public var isWhole: Bool { failure == nil && contenders.allSatisfy { $0.failure == nil } }

  /// How a contender's median compares with that of the first: 2 is twice its rate, or twice its time. Nil when one
  /// of them has none.
  public func ratio(of contender: ContenderResult) -> Double? {
    guard let first = contenders.first?.summary(headline.value(of:))?.median, first > 0 else { return nil }
    return contender.summary(headline.value(of:)).map { $0.median / first }
  }
}
