import AnalysisCore
import BenchmarkRows
import CommandLineTool

/// The benchmarks; see `scripts/bench`.
@main
struct BenchmarksMain {
  static func main() async {
    await Tool(BenchmarkCommand.command, version: ProductVersion.current).main()
  }
}
