import EventLoop
import Support

/// Images by their addresses, each fetched once for all who ask at one time, and kept for a while in memory and,
/// if that is wanted, on a disk.
actor RemoteImageCache {
  /// The loop's own executor, which the transfers run on too.
  nonisolated public var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  typealias Outcome = Result<[UInt8], RemoteImageError>

  /// One look into the disk cache and one fetch, for all who wait for the same image.
  private struct Flight {
    let number: UInt64
    var task: Task<Void, Never>?
    var waiting: [UInt64: CheckedContinuation<Outcome, Never>] = [:]
  }

  private let loop: EventLoop
  private let hosts: [AllowedHost]
  private let fetcher: RemoteImageFetcher
  private let disk: DiskCache?
  private let network: NetworkDependencies
  private let maximumAge: Double
  private let onTrouble: @Sendable (String) -> Void
  private var memory: MemoryCache
  private var flights: [RemoteAddress: Flight] = [:]
  private var nextNumber: UInt64 = 0
  private var isClosed = false

  /// A cache that fetches nothing before it is asked. Close it before the loop is shut down.
  ///
  /// - Parameters:
  ///   - hosts: Where images may come from; what is kept of other hosts is not given out either.
  ///   - disk: Where images are kept beyond the process; nil for nowhere.
  ///   - onTrouble: Told in a sentence what keeps an image from being kept on the disk, which fails no fetch.
  init(
    loop: EventLoop, hosts: [AllowedHost], limits: FetchLimits = FetchLimits(),
    settings: CacheSettings = CacheSettings(), disk: DiskCache? = nil,
    network: NetworkDependencies = .system, onTrouble: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.loop = loop
    self.hosts = hosts
    self.disk = disk
    self.network = network
    self.onTrouble = onTrouble
    fetcher = RemoteImageFetcher(loop: loop, limits: limits, network: network)
    memory = MemoryCache(limit: settings.memoryBytes)
    maximumAge = settings.maximumAge.inSeconds
  }

  /// Ends what is being fetched; whoever waits is told `closed`.
  func close() async {
    isClosed = true
    let ended = flights
    flights = [:]
    for flight in ended.values {
      flight.task?.cancel()
      for continuation in flight.waiting.values { continuation.resume(returning: .failure(.closed)) }
    }
    await fetcher.close()
    // None may come back to a loop that is shut down.
    for flight in ended.values { await flight.task?.value }
  }

  /// The bytes at an address, as they came: nobody has judged yet whether they are an image.
  ///
  /// Cancelling the task ends the fetch when nobody else waits for it.
  func image(at address: String) async throws(RemoteImageError) -> [UInt8] {
    guard !isClosed else { throw .closed }
    let address = try RemoteAddress(address, among: hosts, in: network)
    return try await join(address).get()
  }

  /// What is kept of an address; nothing is fetched. Nil also for an address that may not be fetched from.
  func kept(_ address: String) async -> [UInt8]? {
    guard !isClosed,
      let address = try? RemoteAddress(address, among: hosts, in: network)
    else { return nil }
    if let image = memory.image(address.url, now: network.now()) { return image }
    return await stored(address)?.image
  }

  // MARK: - One fetch for all

  /// How many wait for a fetch.
  var waitingCount: Int { flights.values.reduce(0) { $0 + $1.waiting.count } }

  private func join(_ address: RemoteAddress) async -> Outcome {
    nextNumber += 1
    let number = nextNumber
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // Whoever was cancelled before begins nothing.
        guard !Task.isCancelled else { return continuation.resume(returning: .failure(.cancelled)) }
        wait(continuation, number, for: address)
      }
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.leave(number, address) } }
    }
  }

  private func wait(
    _ continuation: CheckedContinuation<Outcome, Never>, _ number: UInt64, for address: RemoteAddress
  ) {
    // Looked for here and not before: until here another may have come in between, with the end of the fetch.
    if let image = memory.image(address.url, now: network.now()) {
      return continuation.resume(returning: .success(image))
    }
    if flights[address] == nil {
      flights[address] = Flight(number: number)
      // A task of its own, since it goes on for the others when the one that began it is cancelled.
      flights[address]?.task = Task(executorPreference: loop) { await self.fly(number, address) }
    }
    flights[address]?.waiting[number] = continuation
  }

  private func leave(_ number: UInt64, _ address: RemoteAddress) {
    guard let continuation = flights[address]?.waiting.removeValue(forKey: number) else { return }
    continuation.resume(returning: .failure(.cancelled))
    guard let flight = flights[address], flight.waiting.isEmpty else { return }
    // Whoever asks from now on gets a fetch that nobody has given up.
    flights[address] = nil
    flight.task?.cancel()
  }

  private func fly(_ number: UInt64, _ address: RemoteAddress) async {
    let outcome = await outcome(of: address)
    // One that was given up may come back when another is on its way.
    guard let flight = flights[address], flight.number == number else { return }
    flights[address] = nil
    for continuation in flight.waiting.values { continuation.resume(returning: outcome) }
  }

  // MARK: - Where it comes from

  private func outcome(of address: RemoteAddress) async -> Outcome {
    if let file = await stored(address) {
      memory.keep(address.url, file.image, until: file.end)
      return .success(file.image)
    }
    do throws(RemoteImageError) {
      let fetched = try await fetcher.fetch(address)
      let now = network.now()
      if let end = fetched.freshness.end(from: now, usual: maximumAge) {
        memory.keep(address.url, fetched.bytes, until: end)
        await store(address, CachedFile(end: end, image: fetched.bytes), now: now)
      }
      return .success(fetched.bytes)
    } catch {
      return .failure(error)
    }
  }

  private func stored(_ address: RemoteAddress) async -> CachedFile? {
    guard let disk else { return nil }
    let (url, now) = (address.url, network.now())
    return await HelperThread.value(of: { disk.image(url, now: now) }) ?? nil
  }

  private func store(_ address: RemoteAddress, _ file: CachedFile, now: Double) async {
    guard let disk else { return }
    let url = address.url
    let failure = await HelperThread.value { () -> String? in
      do {
        try disk.keep(url, file, now: now)
        return nil
      } catch {
        return "\(error)"
      }
    }
    // No thread is as good a reason as any, and the next image may find one.
    if let message = failure ?? "the system has no thread left" {
      onTrouble("An image could not be kept on the disk: \(message)")
    }
  }
}

extension RemoteImageCache {
  /// Fetches what is not here yet of a page of images, so that they are here when they are shown.
  ///
  /// - Parameters:
  ///   - addresses: The addresses, in any number; the same one twice is fetched once.
  ///   - atOnce: How many are asked for at once.
  ///   - done: Told of each as it is done: its index among the addresses, and why it failed, if it did. One that
  ///     fails does not stop the others.
  ///
  /// Ends early, with the others left out, when the task is cancelled.
  func prefetch(
    _ addresses: [String], atOnce: Int = 8,
    done: @escaping @Sendable (_ index: Int, _ failure: RemoteImageError?) -> Void
  ) async {
    await withTaskGroup(of: Void.self) { group in
      for (index, address) in addresses.enumerated() {
        if index >= max(1, atOnce) { _ = await group.next() }
        guard !Task.isCancelled else { break }
        group.addTask {
          do throws(RemoteImageError) {
            _ = try await self.image(at: address)
            done(index, nil)
          } catch {
            done(index, error)
          }
        }
      }
    }
  }
}

/// How much is kept of what was fetched, and for how long.
struct CacheSettings: Sendable, Equatable {
  /// The most bytes of images in memory.
  var memoryBytes = 64_000_000
  /// For how long an image is kept at most; its host may ask for less.
  var maximumAge: Duration = .seconds(86_400)
}
