internal import Clinux
internal import Glibc
internal import Images
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
  }

  private let program: String
  private let arguments: [String]
  private let state = Mutex(State())

  /// How long it may take from its start until it greets.
  private static let patience: Duration = .seconds(15)

  init(_ program: String, _ arguments: [String]) {
    self.program = program
    self.arguments = arguments
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
      let status = self.end()
      return .failure(
        state.withLock(\.isCancelled) ? .cancelled : .refused(Self.refusal(error, status)))
    }
  }

  /// What a picture is refused for that got no answer. What the picture itself did is final. What happened to the
  /// decoder from outside is not, for the picture may be good.
  private static func refusal(_ fault: DecoderSocket.Fault, _ status: Int32?) -> ImageRefusal {
    switch fault {
    case .late: return .notProcessed("its decoder gave no answer in time")
    case .nonsense: return .decoderFailed("its answer was none")
    case .closed: break
    }
    guard let status else { return .notProcessed("its decoder ended, and nobody knows how") }
    switch status & 0x7F {
    case 0: return .decoderFailed("it ended with \(status >> 8)")
    case SIGXCPU: return .decoderFailed("it took more of the processor's time than a picture may take")
    // Nothing in it sends this signal; the system does where memory is short.
    case SIGKILL: return .notProcessed("its decoder was killed, perhaps since memory was short")
    case let signal: return .decoderFailed("it crashed (signal \(signal))")
    }
  }

  // MARK: - Start and end

  /// The process, which has greeted; nil when it was cancelled before.
  private func started() throws(ImageDecoderError) -> Child? {
    let (isNew, child) = try state.withLock { state throws(ImageDecoderError) -> (Bool, Child?) in
      guard !state.isCancelled else { return (false, nil) }
      if let child = state.child { return (false, child) }
      state.child = try spawn()
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
      let status = end()
      throw unstarted(error, status)
    }
  }

  private func unstarted(_ fault: DecoderSocket.Fault, _ status: Int32?) -> ImageDecoderError {
    switch (fault, status) {
    case (.late, _): ImageDecoderError(program, "it gave no sign of life")
    case (.nonsense, _): ImageDecoderError(program, "it is of another version", isInstallation: true)
    case (.closed, .some(let status)) where status & 0x7F == 0:
      ImageDecoderError(program, "it ended at once, with \(status >> 8)", isInstallation: true)
    case (.closed, .some(let status)):
      ImageDecoderError(program, "it ended at once, by signal \(status & 0x7F)")
    case (.closed, nil): ImageDecoderError(program, "it ended at once")
    }
  }

  /// Kills it and waits for its end. Answers how it ended by itself, if it had.
  @discardableResult
  private func end() -> Int32? {
    // Not under the lock, which `cancel` takes on the event loop: a decoder with a large memory takes a while to end.
    let child = state.withLock { state in
      defer { state.child = nil }
      return state.child
    }
    guard let child else { return nil }
    kill(child.id, SIGKILL)
    close(child.socket)
    var status: Int32 = 0
    while waitpid(child.id, &status, 0) < 0 { if errno != EINTR { return nil } }
    return status
  }

  /// Starts the program with an empty environment, a socket as its input and output, and nothing else of this one.
  private func spawn() throws(ImageDecoderError) -> Child {
    var pair: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
      throw ImageDecoderError(program, String(cString: strerror(errno)))
    }
    defer { close(pair[1]) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, pair[1], STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, pair[1], STDOUT_FILENO)
    // What a program says when it crashes may hold bytes of the picture.
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    linux_spawn_closing_from(&actions, STDERR_FILENO + 1)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    // Ctrl-C and the service manager's stop reach this program and its decoders alike. The pictures that these hold are
    // for this program to finish: what it needs no more it ends itself.
    sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigmask(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    let words = ([program] + arguments).map { strdup($0) }
    defer { for word in words { free(word) } }
    var id = pid_t()
    let code = posix_spawn(&id, program, &actions, &attributes, words + [nil], [nil])
    guard code == 0 else {
      close(pair[0])
      throw ImageDecoderError(
        program, String(cString: strerror(code)),
        isInstallation: [ENOENT, ENOTDIR, EACCES, ENOEXEC].contains(code))
    }
    return Child(id: id, socket: pair[0])
  }
}
