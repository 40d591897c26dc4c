internal import Glibc
internal import Support
internal import Synchronization

/// One `image-decoder`: started for its first picture, killed with its last owner.
final class DecoderProcess: Sendable {
  private struct Child {
    let id: pid_t
    let socket: Int32
  }

  private struct State {
    var child: Child?
    var isCancelled = false
    /// Whether a service's filter of system calls, as that of version 1.0, ends what lowers its priority.
    var isNiceForbidden = false
  }

  /// Whether it decodes costly pictures, and these alone: they take seconds, so that whatever else this machine does
  /// comes first. A process may lower its priority, and not raise it again.
  let isForCostly: Bool
  private let program: CompanionProgram
  private let state = Mutex(State())

  /// How long it may take from its start until it greets.
  private static let patience: Duration = .seconds(15)

  /// How much lower the priority of one for costly pictures is: a tenth of the processor's time beside one that wants
  /// all of it (`sched(7)`).
  static let niceness: Int32 = 10

  init(_ program: CompanionProgram, forCostly isForCostly: Bool) {
    self.program = program
    self.isForCostly = isForCostly
  }

  deinit {
    end()
  }

  /// Its number; nil when it does not run.
  var id: Int32? { state.withLock { $0.child?.id } }

  /// Whether it can be given another picture.
  var isReusable: Bool { state.withLock { $0.child != nil && !$0.isCancelled } }

  /// Whether it has not closed its end meanwhile.
  var isListening: Bool {
    state.withLock { state in
      guard let child = state.child else { return false }
      var byte: UInt8 = 0
      return recv(child.socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) < 0 && errno == EAGAIN
    }
  }

  /// Kills it, whatever it is doing; what it was to clean is cancelled. From any thread.
  func cancel() {
    state.withLock { state in
      state.isCancelled = true
      if let child = state.child { kill(child.id, SIGKILL) }
    }
  }

  /// Cleans a file; blocks.
  func clean(
    _ bytes: [UInt8], _ limits: ImageLimits, within time: Duration
  ) -> Result<CleanImage, UndecodedImage> {
    do throws(ImageDecoderError) {
      guard let child = try started() else { return .failure(.cancelled) }
      return ask(child, bytes, limits, until: .now + time)
    } catch {
      return .failure(state.withLock(\.isCancelled) ? .cancelled : .unavailable(error))
    }
  }

  private func ask(
    _ child: Child, _ bytes: [UInt8], _ limits: ImageLimits, until end: SuspendingClock.Instant
  ) -> Result<CleanImage, UndecodedImage> {
    let socket = DecoderSocket(descriptor: child.socket, end: end)
    do throws(DecoderSocket.Fault) {
      try socket.send(DecodingExchange.request(bytes, limits))
      let header = try socket.receive(DecodingExchange.answerSize)
      guard let size = DecodingExchange.contentSize(header, limits) else { throw .nonsense }
      guard let outcome = DecodingExchange.outcome(header, try socket.receive(size), limits) else {
        throw .nonsense
      }
      return outcome.mapError { .refused($0) }
    } catch {
      let ending = self.end()
      return .failure(
        state.withLock(\.isCancelled) ? .cancelled : .refused(Self.refusal(error, ending)))
    }
  }

  /// What a picture is refused for that got no answer. What the picture itself did is final. What happened to the
  /// decoder from outside is not, for the picture may be good.
  private static func refusal(
    _ fault: DecoderSocket.Fault, _ ending: CompanionProgram.Ending
  ) -> ImageRefusal {
    switch fault {
    case .late: return .notProcessed("its decoder gave no answer in time")
    case .nonsense: return .decoderFailed("its answer was none")
    case .closed: break
    }
    switch ending {
    case .unknown: return .notProcessed("its decoder ended for an unknown reason")
    case .code(let code): return .decoderFailed("it ended with \(code)")
    case .signal(SIGXCPU):
      return .decoderFailed("it took more of the processor's time than a picture may take")
    // Nothing in it sends this signal; the system does where memory is short.
    case .signal(SIGKILL): return .notProcessed("its decoder was killed, perhaps since memory was short")
    case .signal(let signal): return .decoderFailed("it crashed (signal \(signal))")
    }
  }

  // MARK: - Start and end

  /// The process, which has greeted; nil when it was cancelled before.
  private func started() throws(ImageDecoderError) -> Child? {
    let (isNew, child) = try state.withLock { state throws(ImageDecoderError) -> (Bool, Child?) in
      guard !state.isCancelled else { return (false, nil) }
      if let child = state.child { return (false, child) }
      state.child = try spawn(isNiceForbidden: state.isNiceForbidden)
      return (true, state.child)
    }
    guard isNew, let child else { return child }
    let socket = DecoderSocket(descriptor: child.socket, end: .now + Self.patience)
    do throws(DecoderSocket.Fault) {
      guard try socket.receive(DecodingExchange.greeting.count) == DecodingExchange.greeting else {
        throw .nonsense
      }
      return child
    } catch {
      let ending = end()
      let mayTryAgain = state.withLock { state in
        defer { state.isNiceForbidden = true }
        return isForCostly && ending == .signal(SIGSYS) && !state.isNiceForbidden
      }
      guard mayTryAgain else { throw unstarted(error, ending) }
      return try started()
    }
  }

  private func unstarted(
    _ fault: DecoderSocket.Fault, _ ending: CompanionProgram.Ending
  ) -> ImageDecoderError {
    switch (fault, ending) {
    case (.late, _): ImageDecoderError(program.path, "it gave no sign of life")
    case (.nonsense, _): ImageDecoderError(program.path, "it is of another version", isInstallation: true)
    case (.closed, .code(let code)):
      ImageDecoderError(program.path, "it ended at once, with \(code)", isInstallation: true)
    case (.closed, .signal(let signal)):
      ImageDecoderError(program.path, "it ended at once, by signal \(signal)")
    case (.closed, .unknown): ImageDecoderError(program.path, "it ended at once")
    }
  }

  /// Kills it and waits for its end. Answers how it ended.
  @discardableResult
  private func end() -> CompanionProgram.Ending {
    // Not under the lock, which `cancel` takes on the event loop: a decoder with a large memory takes a while to end.
    let child = state.withLock { state in
      defer { state.child = nil }
      return state.child
    }
    guard let child else { return .unknown }
    kill(child.id, SIGKILL)
    close(child.socket)
    return CompanionProgram.awaitEnd(of: child.id)
  }

  private func spawn(isNiceForbidden: Bool) throws(ImageDecoderError) -> Child {
    var pair: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
      throw ImageDecoderError(program.path, String(cString: strerror(errno)))
    }
    defer { close(pair[1]) }
    do throws(CompanionProgram.Unstarted) {
      let id = try program.start(
        input: pair[1], output: pair[1],
        adding: isForCostly && !isNiceForbidden ? ["--nice", String(Self.niceness)] : [])
      return Child(id: id, socket: pair[0])
    } catch {
      close(pair[0])
      throw ImageDecoderError(program.path, error.reason, isInstallation: error.isInstallation)
    }
  }
}

/// This program's end of the socket to a decoder. What it does blocks, until a time.
struct DecoderSocket {
  enum Fault: Error {
    /// The other end is closed.
    case closed
    /// The time is over.
    case late
    /// What came is no message.
    case nonsense
  }

  let descriptor: Int32
  let end: SuspendingClock.Instant

  func send(_ message: DecodingExchange.Message) throws(Fault) {
    var sent = 0
    while sent < message.count {
      let count = message.withParts(after: sent) { parts in
        var message = msghdr()
        message.msg_iov = parts.baseAddress
        message.msg_iovlen = parts.count
        return sendmsg(descriptor, &message, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
      }
      if count > 0 { sent += count } else { try wait(for: POLLOUT) }
    }
  }

  func receive(_ count: Int) throws(Fault) -> [UInt8] {
    var fault: Fault?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      do throws(Fault) {
        while filled < count {
          let came = recv(
            descriptor, buffer.baseAddress?.advanced(by: filled), count - filled, Int32(MSG_DONTWAIT)
          )
          guard came != 0 else { throw .closed }
          if came > 0 { filled += came } else { try wait(for: POLLIN) }
        }
      } catch {
        fault = error
      }
    }
    if let fault { throw fault }
    return bytes
  }

  /// Waits until the call that has just failed may succeed; throws when it never will.
  private func wait(for event: Int32) throws(Fault) {
    guard errno == EAGAIN || errno == EINTR else { throw .closed }
    let left = end - .now
    guard left > .zero else { throw .late }
    var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    _ = poll(&entry, 1, Int32(clamping: Int(left / .milliseconds(1)) + 1))
  }
}
