import BenchmarkDay
import CommandLineTool
import Foundation

/// `benchmarks day`: what the measured costs make of servers of several sizes, and of a whole day.
enum DayCommand {
  static let command = Command(
    "day", abstract: "Computes from measured costs how far servers carry, and simulates a day.",
    discussion: """
      Costs are read from a file of results; the server, its log, network and connections, the endpoint and the day \
      are assumptions, and all of them options. The table shows servers of 8, 32 and 96 cores with the images in the \
      database and, where the row image-store was measured, in an object store. --json FILE gets everything as JSON too. \
      Nothing is measured here, and nothing started.
      """,
    examples: [
      Example(
        "scripts/bench --only enqueue-one,enqueue-bulk,whole-job-50ms,image-store --json results.json",
        "Measure."),
      Example("scripts/bench day --results results.json", "A day of 100 million jobs."),
      Example(
        "scripts/bench day --results results.json --images objects --cores 96 --call-time 300ms",
        "A larger server, images elsewhere, a faster endpoint."),
    ],
    inputs: DayOptions.all, exitCodes: [.done, .usage, .unreadableInput, .internalError], run: run)

  @Sendable
  private static func run(_ context: Context) async throws -> ExitCode {
    let values = context.values
    guard let path = try values[DayOptions.results] else {
      throw CommandFailure(
        .usage, "A day is computed from measured costs.",
        advice: "Give --results FILE, a file of `scripts/bench --json FILE`.")
    }
    let results = try read(path)
    do {
      let costs = try JobCosts(
        results, images: values[DayOptions.images], submits: values[DayOptions.submits])
      let forecast = DayForecast(
        costs: costs, compared: compared(results, costs, try values[DayOptions.submits], context.console),
        machine: try DayOptions.machine(values), fleet: try DayOptions.fleet(values),
        arrivals: Arrivals(jobs: try values[DayOptions.jobs], seed: UInt64(try values[DayOptions.seed])))
      if results.isQuick {
        context.console.say("The results are of a quick run: what is computed from them means nothing.")
      }
      try context.console.output.write(DayText.text(forecast))
      if let file = try values[BenchmarkCommand.json] {
        try DayFile(forecast).data().write(to: URL(fileURLWithPath: file))
      }
    } catch let error as CostsError {
      throw CommandFailure(.unreadableInput, "\(path): \(error.message)", advice: error.advice)
    }
    return .done
  }

  private static func read(_ path: String) throws -> MeasuredResults {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw CommandFailure(
        .unreadableInput, "\(path) cannot be read.", advice: "Make it with `scripts/bench --json FILE`.")
    }
    do {
      return try MeasuredResults(data)
    } catch let error as CostsError {
      throw CommandFailure(.unreadableInput, "\(path): \(error.message)", advice: error.advice)
    }
  }

  /// The costs for each place of the images, as far as they were measured: those of the day in any case. What is
  /// missing of the others is said, and no reason to stop.
  private static func compared(
    _ results: MeasuredResults, _ own: JobCosts, _ submits: JobCosts.Submits, _ console: Console
  ) -> [JobCosts] {
    JobCosts.Images.allCases.compactMap { images in
      guard images != own.images else { return own }
      do {
        return try JobCosts(results, images: images, submits: submits)
      } catch {
        console.say("The table leaves out images in \(images.rawValue): \(error)")
        return nil
      }
    }
  }
}
