import CommandLineTool
import Endpoint

/// `analysis-worker`: claims jobs, calls the endpoint, stores results.
@main
struct WorkerMain {
  static func main() async {
    await Service.main(
      WorkerOptions.command { context in try await WorkerCommand(context: context).run() },
      version: WorkerOptions.version)
  }
}
