import Glibc
import Images
import Support

/// `image-decoder`: cleans one picture after the other for the program that started it, until its input ends.
@main enum ImageDecoder {
  private static let help = """
    Cleans pictures for analysisctl and analysis-worker, which start it; input and output are not for people.
    image-decoder [--cpu-seconds N (of each picture, 20)] [--memory-megabytes N (of all, 1024)]
                  [--nice N (how much lower its priority is, 0)] [--help]

    """

  static func main() {
    StandardDescriptors.open()
    let arguments = CommandLine.arguments.dropFirst()
    guard let budget = Budget(arguments) else {
      let isAsked = arguments.first == "--help"
      let help = DecodingExchange.Message([], Array(help.utf8))
      exit(write(help, to: isAsked ? STDOUT_FILENO : STDERR_FILENO) && isAsked ? 0 : 64)
    }
    // Each picture takes megabytes for a moment: what one gives back, the next one takes. After a huge one most goes
    // back to the system.
    MemoryTuning.raiseMallocThresholds(keeping: 128 << 20)
    budget.begin()
    CoreDumps.forbid()
    guard write(DecodingExchange.Message([], DecodingExchange.greeting)) else { exit(1) }
    while let header = read(DecodingExchange.requestSize) {
      guard let request = DecodingExchange.request(header), let file = read(request.byteCount) else {
        exit(1)
      }
      budget.beginPicture()
      let answer = DecodingExchange.answer(
        Result { () throws(ImageRefusal) in try ImageCleaner(limits: request.limits).clean(file) })
      guard write(answer) else { exit(1) }
    }
  }

  /// So many bytes of the input; nil when it ends before.
  private static func read(_ count: Int) -> [UInt8]? {
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let came = Glibc.read(STDIN_FILENO, buffer.baseAddress?.advanced(by: filled), count - filled)
        if came == 0 || (came < 0 && errno != EINTR) { return }
        filled += max(came, 0)
      }
    }
    return bytes.count == count ? bytes : nil
  }

  /// False when nobody reads the output.
  private static func write(
    _ message: DecodingExchange.Message, to descriptor: Int32 = STDOUT_FILENO
  ) -> Bool {
    var written = 0
    while written < message.count {
      let went = message.withParts(after: written) { writev(descriptor, $0.baseAddress, Int32($0.count)) }
      if went < 0 && errno != EINTR { return false }
      written += max(went, 0)
    }
    return true
  }
}

/// What decoding may cost.
struct Budget {
  /// Of each picture, in seconds of the processor: five times what the most costly one known takes.
  private var seconds = 20
  /// For all that is not there at the start, in bytes.
  private var memory = 1 << 30
  /// How much lower its priority is than that of the program that started it.
  private var niceness: Int32 = 0

  /// The limits that the arguments name; nil if they name anything else.
  init?(_ arguments: ArraySlice<String>) {
    var rest = arguments
    while let name = rest.popFirst() {
      guard let value = rest.popFirst().flatMap({ Int($0) }), (0...1_000_000).contains(value) else {
        return nil
      }
      switch name {
      case "--cpu-seconds": seconds = value
      case "--memory-megabytes": memory = value << 20
      case "--nice": niceness = Int32(value)
      default: return nil
      }
    }
  }

  /// Limits the memory for good, lets nothing more be opened or started, and has the system take this program before
  /// others where its memory is short.
  func begin() {
    if niceness > 0 { _ = nice(niceness) }
    ResourceLimit.setMemory(memory)
    for resource in [RLIMIT_NOFILE, __RLIMIT_NPROC] { ResourceLimit.set(resource, 0) }
  }

  /// Gives the next picture its time: the system counts all that the process has used.
  func beginPicture() {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
    // Rounded up, since the limit is in whole seconds.
    let seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 2 + seconds
    limit.rlim_cur = min(rlim_t(seconds), limit.rlim_max)
    setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
  }
}
