import BenchmarkRows
import CommandLineTool
import Support

/// The benchmarks; see `scripts/bench`.
@main
struct BenchmarksMain {
  static func main() async {
    // As the programs do for which its pieces of work stand, and the rows that run in this process.
    MemoryTuning.raiseMallocThresholds()
    await Tool(BenchmarkCommand.command, version: ProductVersion.current).main()
  }
}
