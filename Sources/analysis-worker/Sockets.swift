import CommandLineTool
import Endpoint
import HTTPServing
import Support
import Worker

/// How many calls may be in flight and how many of their connections are kept, as asked for and as far as the
/// system lets this process have sockets open.
struct Sockets {
  let concurrency: Int
  let keptOpen: Int

  /// Connections that are kept at least, when there is room: those of several endpoints are used in turn.
  private static let usuallyKept = 256

  /// Raises the limit of open files as far as it goes, and says in the log when that is not enough.
  init(_ context: Context, _ log: Log) throws {
    let wished = try context.values[WorkerOptions.concurrency]
    // Whoever reads the metrics, however many, takes no socket from a call.
    let listener =
      try context.values[WorkerOptions.metrics] == nil ? 0 : HTTPServer.Bounds().daemon.descriptors
    // Only a worker with keys tells webhooks.
    let webhooks = try context.values[WorkerOptions.keyFile] == nil ? 0 : WebhookSettings().connections
    let limit = DescriptorLimit.raise() - listener - webhooks
    do throws(WorkerError) {
      let room = try DescriptorBudget.calls(limit: limit)
      concurrency = min(wished, room)
      keptOpen = min(max(Self.usuallyKept, wished), room)
    } catch {
      throw CommandFailure(WorkerCommand.exitCode(error.kind), error.description)
    }
    guard concurrency < wished else { return }
    log.warning(
      "Fewer calls may be in flight: raise the limit of open files (LimitNOFILE, ulimit -n)",
      [
        "wished": .int(Int64(wished)), "concurrency": .int(Int64(concurrency)), "limit": .int(Int64(limit)),
      ])
  }
}
