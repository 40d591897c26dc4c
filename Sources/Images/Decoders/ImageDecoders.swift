internal import EventLoop
internal import Glibc
public import Support
internal import Synchronization

/// Cleans pictures in a few programs of their own, `image-decoder`: what a picture does to its decoder, it does to no
/// other picture and to nothing that is in this program's memory.
///
/// A program is started when it is needed, kept for the next picture, and ended with the last reference to this.
public final class ImageDecoders: Sendable {
  private struct Waiter {
    let number: Int
    let isCostly: Bool
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    let slots: Int
    /// How many pictures are being decoded, and how many of these are costly.
    var running = (all: 0, costly: 0)
    var idle: [DecoderProcess] = []
    var waiting = FairLine<Waiter>()
    var numbers = 0

    /// Whether a picture may be decoded now. A slot and, of two processors or more, a processor are never a costly
    /// picture's, so that others need not wait for the seconds that it takes: a lower priority alone still has every
    /// step of theirs wait for the end of its turn at the processor, some 3 ms.
    func hasSlot(costly: Bool) -> Bool {
      running.all < slots && (!costly || running.costly < max(slots - 2, 1))
    }

    mutating func begin(costly: Bool) {
      running.all += 1
      if costly { running.costly += 1 }
    }

    mutating func end(costly: Bool) {
      running.all -= 1
      if costly { running.costly -= 1 }
    }
  }

  /// How many pictures are decoded at once.
  public let slots: Int
  private let program: CompanionProgram
  private let deadline: Duration
  private let state: Mutex<State>

  /// From this cost on a picture is costly: more than the photo of 12 megapixels that most phones take.
  static let costlyPixels = 16_000_000

  /// One more than there are processors, and no more than 5: each of the others may need memory for a picture of 67
  /// megapixels.
  public static let usualSlots = min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 4) + 1

  /// - Parameters:
  ///   - slots: How many pictures are decoded at once, of which two, if it can be, are not costly; the others wait, by
  ///     lane and user in turn.
  ///   - program: The path of `image-decoder`; nil for the one in the folder of the running program.
  ///   - arguments: Its arguments.
  ///   - deadline: How long a picture may take by the clock. The decoder's own limit of processor time ends a
  ///     costly picture long before; this one is for a decoder that hangs.
  public init(
    slots: Int = usualSlots, program: String? = nil, arguments: [String] = [],
    deadline: Duration = .seconds(300)
  ) {
    self.program =
      program.map { CompanionProgram(path: $0, arguments) } ?? CompanionProgram("image-decoder", arguments)
    self.deadline = deadline
    self.slots = max(slots, 1)
    state = Mutex(State(slots: max(slots, 1)))
  }

  /// Cleans a file's bytes as `ImageCleaner` does. Keeps none of the caller's threads while it waits; when the task is
  /// cancelled its decoder is killed.
  ///
  /// - Parameter requester: For whom it is done; nil where all that is decoded is for one person.
  public func clean(
    _ bytes: [UInt8], limits: ImageLimits = ImageLimits(), for requester: Requester? = nil
  ) async throws(UndecodedImage) -> CleanImage {
    let cost = await Self.cost(of: bytes)
    let isCostly = cost > Self.costlyPixels
    guard await enter(requester, cost, isCostly) else { throw .cancelled }
    defer { leave(isCostly) }
    let process = takeIdle(isCostly) ?? DecoderProcess(program, forCostly: isCostly)
    let (program, deadline) = (program, deadline)
    let outcome = await withTaskCancellationHandler {
      await HelperThread.value { process.clean(bytes, limits, within: deadline) }
    } onCancel: {
      process.cancel()
    }
    guard let outcome else {
      throw .unavailable(ImageDecoderError(program.path, "there is no thread left for it"))
    }
    // One whose memory was short for a picture may have it in pieces; a fresh one has it whole.
    if process.isReusable, !outcome.isNotProcessed { state.withLock { $0.idle.append(process) } }
    return try outcome.get()
  }

  /// On the pool: a large file takes milliseconds to look through.
  @concurrent
  private static func cost(of bytes: [UInt8]) async -> Int { ImageCleaner.cost(of: bytes) }

  /// How many pictures wait.
  var waiting: Int { state.withLock { $0.waiting.count } }

  /// How the lanes share the decoders.
  public func share(_ shares: LaneShares) { state.withLock { $0.waiting.shares = shares } }

  /// The process numbers of those that wait for a picture.
  var idleProcesses: [Int32] { state.withLock { $0.idle.compactMap(\.id) } }

  /// One that lives: an idle one may have been killed, which says nothing of the next picture.
  private func takeIdle(_ isCostly: Bool) -> DecoderProcess? {
    while let process = state.withLock({ state in
      state.idle.lastIndex { $0.isForCostly == isCostly }.map { state.idle.remove(at: $0) }
    }) {
      if process.isListening { return process }
    }
    return nil
  }

  // MARK: - Slots

  /// Takes a slot, or waits for it; false when the task is cancelled before it comes.
  private func enter(_ requester: Requester?, _ cost: Int, _ isCostly: Bool) async -> Bool {
    let number = state.withLock { state in
      state.numbers += 1
      return state.numbers
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isCancelled = state.withLock { state in
          if Task.isCancelled { return true }
          state.waiting.append(
            Waiter(number: number, isCostly: isCostly, continuation: continuation), for: requester,
            cost: cost)
          return false
        }
        if isCancelled { continuation.resume(returning: false) } else { admit() }
      }
    } onCancel: {
      let waiters = state.withLock { $0.waiting.remove { $0.number == number } }
      for waiter in waiters { waiter.continuation.resume(returning: false) }
    }
  }

  private func leave(_ isCostly: Bool) {
    state.withLock { $0.end(costly: isCostly) }
    admit()
  }

  /// Lets in those for whom there is a slot.
  private func admit() {
    while let next = state.withLock({ state -> Waiter? in
      let hasSlot = (cheap: state.hasSlot(costly: false), costly: state.hasSlot(costly: true))
      guard hasSlot.cheap, let next = state.waiting.popFirst(where: { !$0.isCostly || hasSlot.costly })
      else { return nil }
      state.begin(costly: next.isCostly)
      return next
    }) {
      next.continuation.resume(returning: true)
    }
  }
}

extension Result<CleanImage, UndecodedImage> {
  /// Whether the picture may be good, and only could not be processed.
  fileprivate var isNotProcessed: Bool {
    if case .failure(.refused(let refusal)) = self { refusal.code == .notProcessed } else { false }
  }
}

/// Why there is no clean picture.
public enum UndecodedImage: Error, Sendable, Equatable {
  /// For what it is, or for what it did to its decoder.
  case refused(ImageRefusal)
  /// Nothing is known of it: the decoder cannot be started on this machine.
  case unavailable(ImageDecoderError)
  /// Nobody waits for it any more.
  case cancelled
}

/// `image-decoder` cannot be started.
public struct ImageDecoderError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What was tried, what the system said, and what to do.
  public let description: String

  /// - Parameter isInstallation: Whether the right program is not there, or may not be run.
  init(_ program: String, _ reason: String, isInstallation: Bool = false) {
    description =
      "\(program) cannot be started, without which no image is decoded: \(reason). "
      + (isInstallation
        ? "Install image-decoder of this version there, beside this program."
        : "Look at the machine's memory and at its limits of processes and open files.")
  }
}
