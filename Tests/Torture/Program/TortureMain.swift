import CommandLineTool
import Support
import TortureKit

/// The torture run; see `scripts/torture`.
@main
struct TortureMain {
  static func main() async {
    await Tool(TortureCommand.command, version: ProductVersion.current).main()
  }
}
