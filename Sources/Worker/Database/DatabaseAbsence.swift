internal import EventLoop
internal import Synchronization

/// Whether the database is away, as all loops of a worker know it together: while it is, one of them asks for it
/// and the others wait for that one.
///
/// The one that asks keeps the leases, for it always has something to ask. So an outage costs the server one
/// attempt to connect every one or two seconds of each worker, however many loops the worker has, and all loops
/// go on in the moment in which it is over.
final class DatabaseAbsence: Sendable {
  /// The longest that a loop waits for the one that asks, in case only its own connection cannot be had.
  static let patience: Duration = .seconds(30)
  /// How often a loop that was cut off has the lease renewer look at once.
  private static let lookEvery: Duration = .seconds(1)

  private struct State {
    var isOn = false
    var lookedAt: ContinuousClock.Instant?
    var lastNumber: UInt64 = 0
    var waiting: [UInt64: Bell] = [:]
  }

  /// Rung when the lease renewer should look whether the database is there.
  let lookBell: Bell
  private let loop: EventLoop
  private let state = Mutex(State())

  init(loop: EventLoop) {
    self.loop = loop
    lookBell = Bell(loop: loop)
  }

  /// Whether it is away, as far as is known.
  var isOn: Bool { state.withLock { $0.isOn } }

  /// The lease renewer could not reach it.
  func began() {
    state.withLock { $0.isOn = true }
  }

  /// The lease renewer reached it: everybody goes on.
  func ended() {
    let wasOn = state.withLock { state in
      defer { state.isOn = false }
      return state.isOn
    }
    if wasOn { wakeAll() }
  }

  /// Ends all waits, for instance since the worker is to stop.
  func wakeAll() {
    let bells = state.withLock { Array($0.waiting.values) }
    for bell in bells { bell.ring() }
  }

  /// Waits after a loss of some other connection: until the absence is over or, when there is none as far as is
  /// known, for a pause.
  func wait(orPauseFor pause: Duration) async {
    let now = EventLoop.now
    let bell = Bell(loop: loop)
    let (number, isOn, looks) = state.withLock { state in
      let looks = !state.isOn && state.lookedAt.map { now - $0 >= Self.lookEvery } ?? true
      if looks { state.lookedAt = now }
      state.lastNumber += 1
      state.waiting[state.lastNumber] = bell
      return (state.lastNumber, state.isOn, looks)
    }
    if looks { lookBell.ring() }
    await bell.wait(atMost: isOn ? Self.patience : pause)
    state.withLock { _ = $0.waiting.removeValue(forKey: number) }
  }
}
