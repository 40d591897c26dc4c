internal import Clinux
internal import Glibc
import Support
internal import Synchronization

/// The loop's state and its run function, apart from the executor, so that the running thread keeps
/// alive only this and the last release of an `EventLoop` can stop it.
final class LoopCore: Sendable {
  enum Work: Sendable {
    case job(UnownedJob)
    case closure(@Sendable () -> Void)
  }

  private struct Inbox {
    var work: [Work] = []
    /// Whether the thread has been told, or is awake and will look: then no wake-up is written.
    var awake = true
    var stopping = false
  }

  private struct Watch {
    /// What its owner wants to hear of, and what epoll was told.
    var interest: Interest
    var told: Interest
    let generation: UInt32
    let handler: @Sendable (Readiness) -> Void
  }

  /// What only the loop's thread uses. The mutex is never contended; it is the proof for the compiler.
  private struct Local {
    var timers = TimerQueue()
    var watches: [Int32: Watch] = [:]
    /// Descriptors whose interest was changed in this round.
    var changed: [Int32] = []
    var generation: UInt32 = 0
  }

  private let inbox = Mutex(Inbox())
  private let local = Mutex(Local())
  private let threadIdentity = Atomic<UInt>(0)
  /// The executor that jobs are told they run on. Weak: the loop owns this, not the other way round.
  private let owner = Mutex<WeakLoop>(WeakLoop(loop: nil))
  private let epoll: Int32
  private let wakeUp: Int32

  private struct WeakLoop {
    weak var loop: EventLoop?
  }

  init() throws(EventLoopError) {
    let epoll = epoll_create1(linux_epoll_cloexec)
    guard epoll >= 0 else { throw EventLoopError(call: "epoll_create1", errno: Glibc.errno) }
    let wakeUp = eventfd(0, linux_eventfd_flags)
    guard wakeUp >= 0 else {
      let code = Glibc.errno
      close(epoll)
      throw EventLoopError(call: "eventfd", errno: code)
    }
    var event = epoll_event()
    // Edge-triggered: epoll reports each wake-up once, so the counter need not be read.
    event.events = linux_epoll_in | linux_epoll_et
    event.data.u64 = UInt64(UInt32(bitPattern: wakeUp))
    guard epoll_ctl(epoll, EPOLL_CTL_ADD, wakeUp, &event) == 0 else {
      let code = Glibc.errno
      close(wakeUp)
      close(epoll)
      throw EventLoopError(call: "epoll_ctl", errno: code)
    }
    self.epoll = epoll
    self.wakeUp = wakeUp
  }

  deinit {
    close(wakeUp)
    close(epoll)
  }

  func adopt(_ loop: EventLoop) {
    owner.withLock { $0.loop = loop }
  }

  var isCurrent: Bool {
    threadIdentity.load(ordering: .relaxed) == UInt(pthread_self())
  }

  // MARK: Inbox

  func enqueue(_ work: Work) {
    let mustWake = inbox.withLock { inbox in
      inbox.work.append(work)
      defer { inbox.awake = true }
      return !inbox.awake
    }
    if mustWake { wake() }
  }

  func stop() {
    inbox.withLock { $0.stopping = true }
    wake()
  }

  private func wake() {
    var one: UInt64 = 1
    _ = write(wakeUp, &one, 8)  // fails only when the counter is full, by 2^64 wake-ups
  }

  // MARK: Timers and descriptors

  func schedule(at due: ContinuousClock.Instant, _ handler: @escaping @Sendable () -> Void) -> TimerToken {
    assertCurrent()
    return local.withLock { $0.timers.schedule(at: due, handler) }
  }

  func cancel(_ token: TimerToken) {
    assertCurrent()
    local.withLock { $0.timers.cancel(token) }
  }

  func watch(
    _ descriptor: Int32, _ interest: Interest, _ handler: @escaping @Sendable (Readiness) -> Void
  ) throws(EventLoopError) {
    assertCurrent()
    let generation = local.withLock { local in
      local.generation &+= 1
      return local.generation
    }
    try control(EPOLL_CTL_ADD, descriptor, interest, generation)
    local.withLock {
      $0.watches[descriptor] = Watch(
        interest: interest, told: interest, generation: generation, handler: handler)
    }
  }

  /// epoll hears of it at the end of the round, and not at all of what was changed back by then.
  func update(_ descriptor: Int32, _ interest: Interest) throws(EventLoopError) {
    assertCurrent()
    let isWatched = local.withLock { local in
      guard let former = local.watches[descriptor]?.interest else { return false }
      if former != interest {
        local.watches[descriptor]?.interest = interest
        local.changed.append(descriptor)
      }
      return true
    }
    guard isWatched else { throw EventLoopError(call: "epoll_ctl", errno: ENOENT) }
  }

  private func tellChanges() {
    let changed = local.withLock { local -> [(descriptor: Int32, watch: Watch)] in
      guard !local.changed.isEmpty else { return [] }
      defer { local.changed.removeAll(keepingCapacity: true) }
      return local.changed.compactMap { descriptor in
        guard let watch = local.watches[descriptor], watch.told != watch.interest else { return nil }
        local.watches[descriptor]?.told = watch.interest
        return (descriptor, watch)
      }
    }
    for (descriptor, watch) in changed {
      do {
        do {
          try control(EPOLL_CTL_MOD, descriptor, watch.interest, watch.generation)
        } catch  where error.errno == ENOENT {
          // What had the number was closed while it was watched, and its owner has something else by the number now.
          try control(EPOLL_CTL_ADD, descriptor, watch.interest, watch.generation)
        }
      } catch {
        // It is closed: whoever reads or writes it finds out.
        watch.handler(.error)
      }
    }
  }

  func unwatch(_ descriptor: Int32) {
    assertCurrent()
    guard local.withLock({ $0.watches.removeValue(forKey: descriptor) }) != nil else { return }
    var event = epoll_event()
    _ = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event)  // fails only if it was closed before
  }

  private func control(
    _ operation: Int32, _ descriptor: Int32, _ interest: Interest, _ generation: UInt32
  ) throws(EventLoopError) {
    var event = epoll_event()
    if interest.contains(.read) { event.events |= linux_epoll_in | linux_epoll_rdhup }
    if interest.contains(.write) { event.events |= linux_epoll_out }
    // The generation tells an event of a closed descriptor from one of its number's next owner.
    event.data.u64 = UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
    guard epoll_ctl(epoll, operation, descriptor, &event) == 0 else {
      throw EventLoopError(call: "epoll_ctl", errno: Glibc.errno)
    }
  }

  private func assertCurrent() {
    precondition(isCurrent, "Descriptors and timers are handled on the event loop's own thread.")
  }

  // MARK: The thread

  /// How often in a row work is done that work has brought about, before descriptors and timers have their turn again.
  private static let generations = 8

  /// Runs until `stop`. Order of a round: descriptors, timers, then all work that has arrived and what that brings
  /// about, and at its end epoll hears what has changed.
  func run() {
    threadIdentity.store(UInt(pthread_self()), ordering: .relaxed)
    var events = [epoll_event](repeating: epoll_event(), count: 256)
    var batch: [Work] = []
    var generation = 0
    while true {
      let more = inbox.withLock { inbox in
        swap(&batch, &inbox.work)
        if batch.isEmpty { inbox.awake = false }
        return !batch.isEmpty || !inbox.stopping
      }
      guard more else { return }
      let hasWork = !batch.isEmpty
      perform(batch)
      batch.removeAll(keepingCapacity: true)
      generation = hasWork ? generation + 1 : Self.generations
      // A task's way from one actor to another is work each time: to ask the system between would cost more.
      if generation < Self.generations { continue }
      generation = 0
      tellChanges()
      poll(&events, timeout: hasWork ? 0 : timeUntilNextTimer())
      fireTimers()
    }
  }

  private func perform(_ batch: [Work]) {
    guard !batch.isEmpty else { return }
    let loop = owner.withLock { $0.loop }
    for work in batch {
      switch work {
      case .closure(let body): body()
      case .job(let job):
        if let loop {
          job.runSynchronously(
            isolatedTo: loop.asUnownedSerialExecutor(), taskExecutor: loop.asUnownedTaskExecutor())
        }
      }
    }
  }

  private func poll(_ events: inout [epoll_event], timeout: Int32) {
    let count = epoll_wait(epoll, &events, Int32(events.count), timeout)
    inbox.withLock { $0.awake = true }
    guard count > 0 else { return }  // 0 is a timeout; -1 is EINTR, and the next round asks again
    for index in 0..<Int(count) {
      let event = events[index]
      let descriptor = Int32(bitPattern: UInt32(truncatingIfNeeded: event.data.u64))
      if descriptor == wakeUp { continue }
      let generation = UInt32(truncatingIfNeeded: event.data.u64 >> 32)
      guard let watch = local.withLock({ $0.watches[descriptor] }), watch.generation == generation else {
        continue
      }
      watch.handler(Readiness(epoll: event.events))
    }
  }

  private func timeUntilNextTimer() -> Int32 {
    guard let due = local.withLock({ $0.timers.nextDue() }) else { return -1 }
    let left = due - EventLoop.now
    guard left > .zero else { return 0 }
    // epoll counts whole milliseconds: rounded up, so that a timer is never asked for too early.
    return Int32(clamping: left.millisecondsRoundedUp)
  }

  private func fireTimers() {
    let now = EventLoop.now
    while let action = local.withLock({ $0.timers.popDue(at: now) }) { action() }
  }
}

extension Readiness {
  init(epoll events: UInt32) {
    self = []
    if events & (linux_epoll_in | linux_epoll_rdhup) != 0 { insert(.read) }
    if events & linux_epoll_out != 0 { insert(.write) }
    if events & linux_epoll_hup != 0 { insert(.hangup) }
    if events & linux_epoll_err != 0 { insert(.error) }
  }
}

/// What a watcher of a descriptor wants to hear of.
public struct Interest: OptionSet, Sendable {
  /// The bits.
  public let rawValue: UInt8

  /// The set with the given bits.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// The descriptor can be read, or its peer has closed.
  public static let read = Interest(rawValue: 1)
  /// The descriptor can be written.
  public static let write = Interest(rawValue: 2)
}

/// What epoll reported of a descriptor.
public struct Readiness: OptionSet, Sendable {
  /// The bits.
  public let rawValue: UInt8

  /// The set with the given bits.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// There is something to read, the end of the stream included.
  public static let read = Readiness(rawValue: 1)
  /// There is room to write.
  public static let write = Readiness(rawValue: 2)
  /// Both directions are closed.
  public static let hangup = Readiness(rawValue: 4)
  /// The descriptor has an error pending.
  public static let error = Readiness(rawValue: 8)
}

/// A POSIX thread that runs one closure and is joined once.
final class LoopThread: Sendable {
  private final class Start: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }

  /// Nil after the thread was joined or detached.
  private let handle: Mutex<pthread_t?>

  init(name: String, body: @escaping @Sendable () -> Void) throws(EventLoopError) {
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        linux_set_thread_name(start.name)
        start.body()
        return nil
      }, start.toOpaque())
    guard code == 0 else {
      start.release()
      throw EventLoopError(call: "pthread_create", errno: code)
    }
    handle = Mutex(thread)
  }

  /// Waits for the thread's end; returns at once when that was done before.
  func join() {
    if let thread = take() { pthread_join(thread, nil) }
  }

  /// Lets the thread end by itself.
  func detach() {
    if let thread = take() { pthread_detach(thread) }
  }

  private func take() -> pthread_t? {
    handle.withLock { thread in
      defer { thread = nil }
      return thread
    }
  }
}
