import CommandLineTool
import Gateway

/// `analysis-gateway`: takes photos from apps, queues them, answers.
@main
struct GatewayMain {
  static func main() async {
    await Service.main(
      GatewayOptions.command { context in try await GatewayRun(context: context).run() },
      version: GatewayOptions.version)
  }
}
