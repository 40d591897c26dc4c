import Administration
import CommandLineTool
import JobQueue
import RemoteImages

/// `analysisctl purge`.
enum PurgeCommand {
  static let dryRun = Flag("dry-run", help: "Change nothing; say what would be removed.")
  static let share = Option(
    "share", .int(in: 1...100), default: 20, valueName: "percent",
    help: "How much of the time the database may work for it, in percent; the rest it is left alone.")
  static let cacheOnly = Flag(
    "cache-only", help: "Only sweep the folder of --url-cache. No database is asked.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "purge", abstract: "Remove what has been kept for as long as the settings say.",
      discussion: """
        The settings keep_images, keep_results, keep_dead, keep_audit and keep_usage say for how long. Jobs that wait, \
        run or are scheduled keep all that they need, and a picture that several jobs show goes with the last of them. \
        A month of which everything is past its time goes as a whole. Before jobs of a month are removed its usage is \
        stated, if it is not yet.

        It works in short transactions, may be stopped at any moment, and goes on where it ended with the next run. 75 \
        says that it was stopped, or that a month's tables were in use.

        Images that this machine fetched by URL more than a day ago go from the folder of --url-cache too, which needs \
        no key. The folder belongs to the login that fetches, and is refused with 77 under any other. A machine that \
        fetches and has no login at the database for this is kept clean by --cache-only.
        """,
      examples: [
        Example("analysisctl purge --dry-run", "What would go."),
        Example("analysisctl purge", "What the timer runs."),
        Example("analysisctl purge --share 100 --json", "As fast as it can, for a program."),
        Example(
          "analysisctl purge --cache-only --config /etc/analysis/analysisctl.conf",
          "What the machine has fetched, and no more."),
      ],
      inputs: [dryRun, share, RemoteImageOptions.keptCache, cacheOnly],
      exitCodes: [.done, .nothingToDo, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
    ) { context in
      var settings = Purger.Settings()
      settings.isDry = try context.values[dryRun]
      settings.share = Double(try context.values[share]) / 100
      let cache = try context.values[RemoteImageOptions.keptCache].map {
        CacheArguments(folder: $0, isDry: settings.isDry)
      }
      if try context.values[cacheOnly] {
        guard let cache else { throw CacheArguments.none }
        return try await sweep(cache, context, dependencies)
      }
      return try await run(settings, cache, context, dependencies)
    }
  }

  /// The folder alone.
  private static func sweep(
    _ cache: CacheArguments, _ context: Context, _ dependencies: Dependencies
  ) async throws -> ExitCode {
    let response = PurgeResponse(
      report: PurgeReport(), cached: try await cache.sweep(dependencies.network.now), isDry: cache.isDry)
    try View(context).show(response, by: PurgePresenter.self)
    return response.exitCode
  }

  /// The folder and the database. What is wrong with one of them keeps nothing in the other.
  private static func run(
    _ settings: Purger.Settings, _ cache: CacheArguments?, _ context: Context, _ dependencies: Dependencies
  ) async throws -> ExitCode {
    let swept: Result<CacheSweep, any Error>
    do {
      swept = .success(try await cache?.sweep(dependencies.network.now) ?? CacheSweep())
    } catch {
      swept = .failure(error)
    }
    let cached = (try? swept.get()) ?? CacheSweep()
    let code: ExitCode
    do {
      code = try await context.withSession(dependencies) { session in
        let interruption = session.interruption
        interruption.endGracefully()
        let report = try await Purger(session.database, settings, by: session.actor("retention"))
          .run { interruption.isAsked }
        let response = PurgeResponse(report: report, cached: cached, isDry: settings.isDry)
        try session.view.show(response, by: PurgePresenter.self)
        return response.exitCode
      }
    } catch {
      if cached.files > 0 {
        let response = PurgeResponse(
          report: PurgeReport(isComplete: false), cached: cached, isDry: settings.isDry)
        try View(context).show(response, by: PurgePresenter.self)
      }
      throw error
    }
    _ = try swept.get()
    return code
  }
}
