internal import EventLoop
internal import Glibc
public import Images
internal import Synchronization
internal import System

/// Cleans pictures in a few programs of their own, `image-decoder`: what a picture does to its decoder, it does to no
/// other picture and to nothing that is in this program's memory.
///
/// A program is started when it is needed, kept for the next picture, and ended with the last reference to this.
public final class ImageDecoders: Sendable {
  private struct Waiter {
    let number: Int
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var free: Int
    var idle: [DecoderProcess] = []
    var waiting: [Waiter] = []
    var numbers = 0
  }

  private let program: CompanionProgram
  private let deadline: Duration
  private let state: Mutex<State>

  /// As many as there are processors, but no more than 4: each may need memory for a picture of 67 megapixels.
  public static let usualSlots = min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 4)

  /// - Parameters:
  ///   - slots: How many pictures are decoded at once; the others wait.
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
    state = Mutex(State(free: max(slots, 1)))
  }

  /// Cleans a file's bytes as `ImageCleaner` does. Keeps none of the caller's threads while it waits; when the task is
  /// cancelled its decoder is killed.
  public func clean(
    _ bytes: [UInt8], limits: ImageLimits = ImageLimits()
  ) async throws(UndecodedImage) -> CleanImage {
    guard await enter() else { throw .cancelled }
    defer { leave() }
    let process = takeIdle() ?? DecoderProcess(program)
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

  /// The process numbers of those that wait for a picture.
  var idleProcesses: [Int32] { state.withLock { $0.idle.compactMap(\.id) } }

  /// One that lives: an idle one may have been killed, which says nothing of the next picture.
  private func takeIdle() -> DecoderProcess? {
    while let process = state.withLock({ $0.idle.popLast() }) {
      if process.isListening { return process }
    }
    return nil
  }

  // MARK: - Slots

  /// Takes a slot, or waits for it in the order of arrival; false when the task is cancelled before it comes.
  private func enter() async -> Bool {
    let number = state.withLock { state in
      state.numbers += 1
      return state.numbers
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let entered = state.withLock { state -> Bool? in
          if Task.isCancelled { return false }
          if state.free > 0 {
            state.free -= 1
            return true
          }
          state.waiting.append(Waiter(number: number, continuation: continuation))
          return nil
        }
        if let entered { continuation.resume(returning: entered) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
      }
      waiter?.continuation.resume(returning: false)
    }
  }

  private func leave() {
    let next = state.withLock { state -> Waiter? in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.free += 1
      return nil
    }
    next?.continuation.resume(returning: true)
  }
}

extension Result<CleanImage, UndecodedImage> {
  /// Whether the picture may be good, and only could not be processed.
  fileprivate var isNotProcessed: Bool {
    if case .failure(.refused(let refusal)) = self { refusal.code == .notProcessed } else { false }
  }
}
