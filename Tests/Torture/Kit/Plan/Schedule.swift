import Support

/// A fault at its time.
struct FaultEvent: Sendable, Equatable {
  /// Its place in the schedule, from 1.
  let number: Int
  /// From the beginning of the run.
  let time: Duration
  let kind: FaultKind
  /// Decides on whom it falls and how it goes about it.
  let choice: UInt64
  /// From 0 to 1: how long it lasts within what its kind allows.
  let length: Double

  /// A time within what the kind allows.
  func lasting(_ shortest: Duration, _ longest: Duration) -> Duration {
    shortest + (longest - shortest) * length
  }
}

/// Which fault comes when and on whom: a pure function of the seed, the length of the run and the kinds.
///
/// The kinds are dealt like cards: all of them come once, in an order drawn by lot, before any comes again. So
/// a short run has every kind too. What halts everything is in every other deck only, and spread over it: there
/// would be little left to disturb. What lasts throughout begins at once.
struct Schedule: Sendable, Equatable {
  let events: [FaultEvent]

  /// The time between two faults, in milliseconds.
  static let gap: ClosedRange<Int> = 250...750

  init(seed: UInt64, length: Duration, kinds: [FaultKind] = FaultKind.all) {
    var generator = SeededGenerator(seed: seed)
    var events: [FaultEvent] = []
    let dealt = kinds.filter { !$0.isThroughout }
    var deck = kinds.filter(\.isThroughout)
    var decks = 0
    // A moment of health first, so that there is something to disturb.
    var time = Duration.seconds(1)
    while time < length, !deck.isEmpty || !dealt.isEmpty {
      if deck.isEmpty {
        deck = Self.deck(decks, of: dealt, using: &generator)
        decks += 1
      }
      let kind = deck.removeFirst()
      events.append(
        FaultEvent(
          number: events.count + 1, time: time, kind: kind, choice: generator.next(),
          length: Double.random(in: 0..<1, using: &generator)))
      time += .milliseconds(kind.isThroughout ? 50 : Int.random(in: Self.gap, using: &generator))
    }
    self.events = events
  }

  private static func deck(
    _ number: Int, of kinds: [FaultKind], using generator: inout SeededGenerator
  ) -> [FaultKind] {
    var deck = kinds.filter { !$0.isHeavy }.shuffled(using: &generator)
    guard number.isMultiple(of: 2) || deck.isEmpty else { return deck }
    let heavy = kinds.filter(\.isHeavy).shuffled(using: &generator)
    guard deck.count >= heavy.count else { return (deck + heavy).shuffled(using: &generator) }
    // One in each stretch of the deck, from the last on, so that the places before it hold.
    let stretch = deck.count / max(1, heavy.count)
    for (place, kind) in heavy.enumerated().reversed() {
      deck.insert(kind, at: place * stretch + Int.random(in: 0..<stretch, using: &generator))
    }
    return deck
  }
}
