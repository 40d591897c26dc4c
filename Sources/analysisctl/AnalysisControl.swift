import CommandLineTool
import Control
import Support

/// `analysisctl`: everything it does is in `Control`.
@main
struct AnalysisControl {
  static func main() async {
    StandardDescriptors.open()
    CoreDumps.forbid()
    KeyLog.forbid()
    // Before the first large allocation: an image that is cleaned needs several blocks of megabytes for a moment.
    MemoryTuning.raiseMallocThresholds()
    // A reader that goes away is an error of the write, which ends the command in good order.
    Signals.ignoreBrokenPipe()
    Signals.keepEndedChildren()
    await ControlProgram.tool().main()
  }
}
