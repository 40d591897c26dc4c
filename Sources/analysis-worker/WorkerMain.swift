import Programs
import WorkerSettings

/// `analysis-worker`: claims jobs, calls the endpoint, stores results.
@main
struct WorkerMain {
  static func main() async {
    await Service.main(
      WorkerOptions.command { context in try await RunCommand(context: context).run() },
      version: WorkerOptions.version)
  }
}
