internal import EventLoop
internal import Images
internal import PostgreSQL
internal import Queue
internal import Support
internal import Synchronization

/// Notifies webhooks of the jobs that have ended: takes what is due, sends it and stores what came of it.
///
/// Each receiver has a task of its own with a few messages at once, and slow ones leave places for others
/// (``ReceiverPlaces``), so that no slow or dead one holds up another, and none a job: nothing of the pipeline waits
/// for it.
struct WebhookCourier: Sendable {
  let context: WorkerContext
  let pipeline: Pipeline
  let keys: KeyCache

  /// How many events of a receiver are taken at once.
  private static let batch = 32
  /// For how long a receiver is sent events before others have their turn.
  private static let batchTime: Duration = .seconds(10)
  /// How long what came of them is tried to be stored: until they would come back anyway.
  private static let storingTime: Duration = .seconds(40)
  private static let purgeEvery: Duration = .seconds(3600)
  private static let purgeSize = 10_000
  /// How long a draining worker goes on at its end.
  private static let lastTime: Duration = .seconds(60)

  private var settings: WebhookSettings { context.configuration.webhooks }

  /// Runs until the worker stops.
  func run() async {
    await deliver(until: nil)
  }

  /// Delivers what is due, for a worker that ends when nothing is left to do.
  ///
  /// Apart from the caller's task, which may be cancelled by then.
  func deliverLast() async {
    await Task(executorPreference: context.loop) {
      await deliver(until: EventLoop.now + Self.lastTime)
    }.value
  }

  /// - Parameter end: Nil to go on until the worker stops; else until nothing is due, and no longer than then.
  private func deliver(until end: ContinuousClock.Instant?) async {
    let sender = WebhookSender(settings, loop: context.loop)
    let places = ReceiverPlaces(settings.receivers)
    let bell = Bell(loop: context.loop)
    await withDiscardingTaskGroup { group in
      var retries = Retries(context, what: "sending to webhooks", pipeline: pipeline)
      var purgeAt = EventLoop.now
      while !Task.isCancelled {
        if let end {
          guard EventLoop.now < end else { break }
        } else {
          guard await pipeline.stage == .running else { break }
        }
        var rest = settings.every
        do throws(JobQueueError) {
          let due = try await context.ask(WorkerStatements.dueDeliveries(in: context.shards))
          // Not always the same first: a receiver is sent events of one shard at a time.
          for shard in due.shuffled() {
            for batch in try await claim(shard, places) {
              places.begin(batch[0].webhook, at: EventLoop.now)
              group.addTask {
                let allTaken = await deliver(batch, shard, sender)
                let eventsInTurn = (batch.count + settings.atOnce - 1) / settings.atOnce
                let wasFull = places.end(batch[0].webhook, after: eventsInTurn, at: EventLoop.now)
                // There may be more: of this one, in this shard or in others, or of others for which there was no room.
                let isMore = batch.count == Self.batch || due.count > 1
                if allTaken && isMore || wasFull { bell.ring() }
              }
            }
          }
          if end != nil {
            guard !due.isEmpty || !places.busy.isEmpty else { break }
            rest = .milliseconds(20)
          } else if EventLoop.now >= purgeAt {
            purgeAt = EventLoop.now + Self.purgeEvery
            try await purge()
          }
          retries.succeeded()
        } catch {
          if Retries.isRefused(error) {
            guard end == nil else { break }
            rest = Retries.refusedFor
          } else {
            guard await retries.pause(after: error) else { break }
          }
        }
        await bell.wait(atMost: rest)
      }
      // What is on its way arrives; nothing more is begun.
      if end == nil { group.cancelAll() }
    }
    await sender.close()
  }

  /// What is due in a shard, by receivers, as far as there is room for more of them.
  private func claim(
    _ shard: Int16, _ places: ReceiverPlaces
  ) async throws(JobQueueError) -> [[Delivery]] {
    let room = places.room(at: EventLoop.now)
    let (busy, slow) = (places.busy, places.slow)
    var deliveries: [Delivery] = []
    if room.all > 0 { deliveries = try await claim(shard, besides: busy + slow, room.all) }
    let taken = Set(deliveries.map(\.webhook))
    let left = min(room.slow, room.all - taken.count)
    if left > 0, !slow.isEmpty { deliveries += try await claim(shard, besides: busy + taken, left) }
    return Dictionary(grouping: deliveries, by: \.webhook).values.map { $0 }
  }

  private func claim(
    _ shard: Int16, besides others: [Int32], _ webhooks: Int
  ) async throws(JobQueueError) -> [Delivery] {
    try await context.ask(
      context.statements(of: shard).claimDeliveries(busy: others, webhooks: webhooks, each: Self.batch))
  }

  private func purge() async throws(JobQueueError) {
    for shard in context.shards {
      while try await context.ask(context.statements(of: shard).purgeDeliveries(limit: Self.purgeSize))
        >= Self.purgeSize
      {}
    }
  }

  // MARK: One receiver

  /// - Returns: Whether the receiver has taken all.
  private func deliver(_ batch: [Delivery], _ shard: Int16, _ sender: WebhookSender) async -> Bool {
    let outcomes: [DeliveryOutcome]
    do throws(SecretProblem) {
      outcomes = await send(batch, shard, try await secret(of: batch[0]), sender)
    } catch let problem {
      outcomes = batch.enumerated().map { index, delivery in
        index == 0
          ? DeliveryOutcome(delivery.event, .failed, failure: problem.message)
          : DeliveryOutcome(delivery.event, .released)
      }
    }
    for outcome in outcomes where outcome.kind != .released {
      context.metrics.deliveries.add(outcome.kind.rawValue)
    }
    await store(outcomes, of: batch[0].webhook, shard)
    return outcomes.allSatisfy { $0.kind == .delivered }
  }

  private struct SecretProblem: Error {
    let message: String
  }

  private func secret(of delivery: Delivery) async throws(SecretProblem) -> WebhookSecret {
    let id = KeyRing.keyID(ofFile: delivery.secret)
    guard let ring = await keys.found(id) else {
      throw SecretProblem(message: "this worker's key file lacks key \(id?.description ?? "?")")
    }
    do throws(ImageEncryptionError) {
      return try WebhookSecret(delivery.secret, of: delivery.url, keys: ring)
    } catch {
      throw SecretProblem(message: "the secret does not open: it or the address was changed")
    }
  }

  /// Sends a receiver its events, a few at once. After a failure, when its time is over and when the worker stops, the
  /// others are released; those that are on their way arrive.
  private func send(
    _ batch: [Delivery], _ shard: Int16, _ secret: WebhookSecret, _ sender: WebhookSender
  ) async -> [DeliveryOutcome] {
    let end = EventLoop.now + Self.batchTime
    let loop = context.loop
    return await withTaskGroup(of: DeliveryOutcome.self) { group in
      func add(_ delivery: Delivery) {
        group.addTask {
          await Task(executorPreference: loop) {
            await sender.send(delivery, shard: shard, secret: secret)
          }.value
        }
      }
      var rest = batch[...]
      var outcomes: [DeliveryOutcome] = []
      for delivery in rest.prefix(settings.atOnce) { add(delivery) }
      rest = rest.dropFirst(settings.atOnce)
      for await outcome in group {
        outcomes.append(outcome)
        if outcome.kind != .delivered || EventLoop.now >= end || Task.isCancelled {
          outcomes += rest.map { DeliveryOutcome($0.event, .released) }
          rest = []
        }
        if let next = rest.popFirst() { add(next) }
      }
      return outcomes
    }
  }

  /// Stores what came of a batch. What cannot be stored comes back in two minutes, and is sent once more.
  ///
  /// Apart from the caller's task: one that is cancelled has sent what it has sent.
  private func store(_ outcomes: [DeliveryOutcome], of webhook: Int32, _ shard: Int16) async {
    await Task(executorPreference: context.loop) {
      let end = EventLoop.now + Self.storingTime
      var retries = Retries(context, what: "storing what was sent to webhooks", pipeline: pipeline)
      while EventLoop.now < end {
        do throws(JobQueueError) {
          let off = try await context.ask(context.statements(of: shard).finishDeliveries(outcomes))
          log(outcomes, of: webhook, isOff: off.contains(webhook))
          return
        } catch {
          guard await retries.pause(after: error) else { return }
        }
      }
    }.value
  }

  private func log(_ outcomes: [DeliveryOutcome], of webhook: Int32, isOff: Bool) {
    guard let failure = outcomes.first(where: { $0.kind == .failed || $0.kind == .gone }) else { return }
    let fields: Log.Fields = [
      "webhook": .string("W\(webhook)"), "reason": .string(printable(failure.failure ?? "")),
    ]
    if isOff {
      context.log.error("A webhook was switched off; analysisctl webhooks replay switches it on", fields)
    } else {
      context.log.warning("A webhook has not taken an event, which is sent again later", fields)
    }
  }
}

/// How many receivers are sent something at the same time, and which are slow: these may have half of the places at
/// most, so that no number of them delays the others.
final class ReceiverPlaces: Sendable {
  /// A receiver is slow that takes longer than this for an event. The place of one that is busy for longer is given to
  /// another, as long as slow ones have not more than their half beside.
  private static let patience: Duration = .seconds(1)
  /// As many slow ones are known at most; a claim can leave out a thousand.
  private static let mostKnown = 900

  private struct State {
    var began: [Int32: ContinuousClock.Instant] = [:]
    var slow: Set<Int32> = []
  }

  private let places: Int
  private let state = Mutex(State())

  init(_ places: Int) {
    self.places = places
  }

  /// Those that are being sent something.
  var busy: [Int32] { state.withLock { $0.began.keys.sorted() } }

  /// Those that were slow the last time.
  var slow: [Int32] { state.withLock { $0.slow.sorted() } }

  /// For how many there is room, and for how many of those that are slow.
  func room(at now: ContinuousClock.Instant) -> (all: Int, slow: Int) {
    state.withLock { state in
      let slow = state.began.count { state.slow.contains($0.key) || now - $0.value > Self.patience }
      let half = max(places / 2, 1)
      let all = max(0, places - state.began.count + min(slow, half))
      return (all, min(all, max(0, half - slow)))
    }
  }

  func begin(_ webhook: Int32, at now: ContinuousClock.Instant) {
    state.withLock { $0.began[webhook] = now }
  }

  /// - Parameter events: How many it was sent one after the other.
  /// - Returns: Whether there was no room until now.
  func end(_ webhook: Int32, after events: Int, at now: ContinuousClock.Instant) -> Bool {
    let wasFull = room(at: now).all == 0
    state.withLock { state in
      guard let began = state.began.removeValue(forKey: webhook) else { return }
      if now - began <= Self.patience * max(events, 1) {
        state.slow.remove(webhook)
      } else if state.slow.count < Self.mostKnown {
        state.slow.insert(webhook)
      }
    }
    return wasFull
  }
}
