import Administration
import CommandLineTool
import JobQueue
import RemoteImages

/// What a purge came to.
struct PurgeResponse: Sendable, Equatable {
  let report: PurgeReport
  /// What went from this machine's folder of images by URL.
  let cached: CacheSweep
  let isDry: Bool

  var exitCode: ExitCode {
    if !report.isComplete || !report.busyMonths.isEmpty { return .tryLater }
    return report.lines.isEmpty && cached.files == 0 ? .nothingToDo : .done
  }
}
