import CommandLineTool
import EventLoop
import Gateway
import System

/// `analysis-gateway`: takes photos from apps, queues them, answers.
@main
struct GatewayMain {
  static func main() async {
    StandardDescriptors.open()
    CoreDumps.forbid()
    KeyLog.forbid()
    // Before the first large allocation: photos come and go by the hundred a second.
    MemoryTuning.raiseMallocThresholds()
    Signals.ignoreBrokenPipe()
    Signals.keepEndedChildren()
    await Tool(
      GatewayOptions.command { context in try await RunCommand(context: context).run() },
      version: GatewayOptions.version, configuration: GatewayOptions.configuration
    ).main()
  }
}
