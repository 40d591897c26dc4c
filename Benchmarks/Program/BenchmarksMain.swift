import AnalysisCore
import BenchmarkRows
import CommandLineTool
import Operations

/// The benchmarks; see `scripts/bench`.
@main
struct BenchmarksMain {
  static func main() async {
    // As the programs that its pieces of work stand for.
    MemoryTuning.raiseMallocThresholds()
    await Tool(BenchmarkCommand.command, version: ProductVersion.current).main()
  }
}
