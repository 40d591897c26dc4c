import Testing

@testable import Worker

@Suite("Slow receivers of webhooks leave places for others")
struct ReceiverPlacesTests {
  private let start = ContinuousClock.now

  @Test("Where all places are taken by ones that do not answer, others get half as many within a second")
  func unknown() {
    let places = ReceiverPlaces(8)
    for webhook in 1...8 as ClosedRange<Int32> { places.begin(webhook, at: start) }
    #expect(places.room(at: start) == (0, 0))
    #expect(places.room(at: start + .milliseconds(1001)) == (4, 0))
    for webhook in 9...12 as ClosedRange<Int32> { places.begin(webhook, at: start + .seconds(1)) }
    #expect(places.room(at: start + .milliseconds(1001)) == (0, 0))
    #expect(places.busy == Array(1...12))
  }

  @Test("Those that were slow have half of the places at most, until they are not any more")
  func known() {
    let places = ReceiverPlaces(8)
    for webhook in 1...8 as ClosedRange<Int32> { places.begin(webhook, at: start) }
    #expect(places.end(1, after: 1, at: start + .milliseconds(1500)) == false)
    for webhook in 2...8 as ClosedRange<Int32> {
      _ = places.end(webhook, after: 1, at: start + .milliseconds(1500))
    }
    #expect(places.slow == Array(1...8))
    #expect(places.room(at: start + .seconds(2)) == (8, 4))
    for webhook in 1...4 as ClosedRange<Int32> { places.begin(webhook, at: start + .seconds(2)) }
    #expect(places.room(at: start + .seconds(2)) == (8, 0))
    // Eight events, four of them at once, in a second and a half.
    _ = places.end(1, after: 2, at: start + .milliseconds(3500))
    #expect(places.slow == Array(2...8))
    #expect(places.room(at: start + .seconds(4)) == (8, 1))
  }
}
