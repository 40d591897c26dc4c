import CommandLineTool
import EventLoop
import System
import WorkerSettings

/// `analysis-worker`: claims jobs, calls the endpoint, stores results.
@main
struct WorkerMain {
  static func main() async {
    StandardDescriptors.open()
    CoreDumps.forbid()
    KeyLog.forbid()
    // Before the first large allocation: images of 120 kB come and go thousands of times a second.
    MemoryTuning.raiseMallocThresholds()
    Signals.ignoreBrokenPipe()
    Signals.keepEndedChildren()
    await Tool(
      WorkerOptions.command { context in try await RunCommand(context: context).run() },
      version: WorkerOptions.version, configuration: WorkerOptions.configuration
    ).main()
  }
}
