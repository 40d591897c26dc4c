public import EventLoop
public import Support

/// A program that runs until it is stopped.
public enum Service {
  /// Prepares the process, and does what its command line says.
  public static func main(_ command: Command, version: String) async {
    StandardDescriptors.open()
    CoreDumps.forbid()
    KeyLog.forbid()
    // Before the first large allocation: images of 120 kB come and go thousands of times a second.
    MemoryTuning.raiseMallocThresholds()
    Signals.ignoreBrokenPipe()
    Signals.keepEndedChildren()
    await Tool(command, version: version, configuration: ServiceOptions.configuration).main()
  }
}

extension ServiceNotification {
  /// Gives signs of life until the task is cancelled: each when all the loops have answered, so that one that hangs is
  /// noticed.
  public func keepWatchdog(on loop: EventLoop, _ others: EventLoop...) async {
    guard let interval = watchdogInterval else { return }
    while (try? await loop.sleep(for: interval / 2)) != nil {
      for other in others { try? await other.sleep(for: .zero) }
      watchdog()
    }
  }
}
