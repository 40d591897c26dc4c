import CommandLineTool
import EventLoop
import PostgreSQL
import Queue
import Support

enum PurgeCommand {
  static let dryRun = Flag("dry-run", help: "Change nothing; say what would be removed.")
  static let share = Option(
    "share", .int(in: 1...100), default: 20, valueName: "percent",
    help: "How much of the time the database may work for it, in percent; the rest it is left alone.")
  static let cacheOnly = Flag(
    "cache-only", help: "Only sweep the folder of --url-cache. No database is asked.")

  static let command = ControlCommand(
    "purge", abstract: "Remove what has been kept for as long as the settings say.",
    discussion: """
      The settings keep_images, keep_results, keep_dead, keep_audit and keep_usage say for how long. Events of \
      webhooks go a week after they were delivered, or 30 days after their job ended. Jobs that wait, \
      run or are scheduled keep all that they need, and a picture that several jobs show goes with the last of them. \
      A month of which everything is past its time goes as a whole. Jobs of a month stay until the month is closed, so \
      that no bill can miss them: where one could be closed and is not, the exit code is 6, and analysisctl month \
      close closes it.

      It shows what would go and asks. Timers and scripts give --yes.

      It works in short transactions, may be stopped at any moment, and goes on where it ended with the next run. 75 \
      says that it was stopped, or that a month's tables were in use.

      With --image-store the objects of images that are gone go too, and those of submits that never came, after a day.

      Images that this machine fetched by URL more than a day ago go from the folder of --url-cache too, which needs \
      no key. The folder belongs to the login that fetches, and is refused with 77 under any other. A machine that \
      fetches and has no login at the database for this is kept clean by --cache-only.
      """,
    examples: [
      Example("analysisctl purge --dry-run", "What would go."),
      Example("analysisctl purge --yes", "What the timer runs."),
      Example("analysisctl purge --yes --share 100 --json", "As fast as it can, for a program."),
      Example(
        "analysisctl purge --cache-only --config /etc/analysis/analysisctl.conf",
        "What the machine has fetched, and no more."),
    ],
    inputs: [
      dryRun, Confirmation.yes, share, SharedOptions.imageStore, RemoteImageOptions.keptCache, cacheOnly,
    ],
    exitCodes: [
      .done, .refused, .nothingToDo, .jobsStillOpen, .usage, .unreadableInput, .unreachable, .tryLater,
      .permission,
    ],
    timerSuccesses: [.done, .nothingToDo]
  ) { context in
    var settings = Purger.Settings()
    settings.isDry = try context[dryRun]
    settings.share = Double(try context[share]) / 100
    let cache = try context[RemoteImageOptions.keptCache].map {
      CacheArguments(folder: $0, isDry: settings.isDry)
    }
    if try context[cacheOnly] {
      guard let cache else { throw CacheArguments.none }
      return try await sweep(cache, context)
    }
    if try !settings.isDry && !context[Confirmation.yes] {
      let answer = try await confirmed(settings, cache, context)
      guard answer == .done else { return answer }
    }
    return try await run(settings, cache, context)
  }

  /// Shows what would go and asks; the code to end with where nothing would.
  private static func confirmed(
    _ settings: Purger.Settings, _ cache: CacheArguments?, _ context: ControlContext
  ) async throws -> ExitCode {
    try Confirmation.requireTerminal(context)
    var settings = settings
    settings.isDry = true
    let dry = settings
    // What is wrong with the folder is said when it is swept.
    let rehearsal = cache.map { CacheArguments(folder: $0.folder, isDry: true) }
    let cached = (try? await rehearsal?.sweep(context.dependencies.network.now)) ?? CacheSweep()
    return try await context.withSession(keepsEnd: false) { session in
      let interruption = session.interruption
      let report = try await Purger(session.database, dry).run { interruption.isAsked }
      let response = PurgeResponse(report: report, cached: cached, isDry: true)
      let text = response.text(width: 80, paint: Paint(false))
      for line in response.kept { session.view.sayUnlessJSON(line) }
      guard response.hasLines else {
        session.view.sayUnlessJSON(text)
        return response.exitCode
      }
      try await Confirmation.require(text + "It cannot be undone. Remove it?", session)
      return .done
    }
  }

  /// Removes the objects of which there is no image, as far as the store does it.
  private static func removeObjects(
    at moment: Timestamp, _ session: ControlSession
  ) async throws -> ImageStore.Removal {
    let interruption = session.interruption
    return try await ImageStoreOption.with(session) { store in
      var removal = try await ImageStore.removeLost(session.database, from: store) { interruption.isAsked }
      guard let store, removal.reason == nil else { return removal }
      do {
        let swept = try await store.sweep(session.database, at: moment.secondsSince1970) {
          interruption.isAsked
        }
        removal.removed += swept.removed
        removal.left += swept.left
        removal.reason = swept.reason
      } catch let error as ImageStoreError {
        removal.left += 1
        removal.reason = error
      }
      return removal
    }
  }

  private static func sweep(_ cache: CacheArguments, _ context: ControlContext) async throws -> ExitCode {
    let response = PurgeResponse(
      report: PurgeReport(), cached: try await cache.sweep(context.dependencies.network.now),
      isDry: cache.isDry)
    try context.view.show(response)
    return response.exitCode
  }

  /// The folder and the database. A failure of one of them does not stop the other.
  private static func run(
    _ settings: Purger.Settings, _ cache: CacheArguments?, _ context: ControlContext
  ) async throws -> ExitCode {
    let swept: Result<CacheSweep, any Error>
    do {
      swept = .success(try await cache?.sweep(context.dependencies.network.now) ?? CacheSweep())
    } catch {
      swept = .failure(error)
    }
    let cached = (try? swept.get()) ?? CacheSweep()
    let code: ExitCode
    do {
      code = try await context.withSession { session in
        let interruption = session.interruption
        interruption.endGracefully()
        let purger = Purger(session.database, settings, by: session.actor("retention"))
        let report = try await purger.run { interruption.isAsked }
        var response = PurgeResponse(report: report, cached: cached, isDry: settings.isDry)
        if !settings.isDry { response.objects = try await removeObjects(at: purger.moment(), session) }
        try session.view.show(response)
        if let reason = response.objects.reason {
          session.view.sayUnlessJSON("Objects of images that are gone are left. \(reason)")
        }
        // A script that throws results away hears of it too.
        for line in response.kept { session.view.sayUnlessJSON(line) }
        return response.exitCode
      }
    } catch {
      if cached.files > 0 {
        let response = PurgeResponse(
          report: PurgeReport(isComplete: false), cached: cached, isDry: settings.isDry)
        try context.view.show(response)
      }
      throw error
    }
    _ = try swept.get()
    return code
  }
}

/// What a purge removed, or would. Where nobody watches, a run that found nothing says nothing.
struct PurgeResponse: Sendable, Equatable, Presentable {
  let report: PurgeReport
  /// What went from this machine's folder of images by URL.
  let cached: CacheSweep
  let isDry: Bool
  /// What went from the image store.
  var objects = ImageStore.Removal()

  var exitCode: ExitCode {
    if !report.isComplete || !report.busyMonths.isEmpty || objects.left > 0 { return .tryLater }
    if !report.unclosedMonths.isEmpty { return .jobsStillOpen }
    return hasLines ? .done : .nothingToDo
  }

  /// Whether something went, or would.
  var hasLines: Bool { !report.lines.isEmpty || cached.files > 0 || objects.removed > 0 }

  /// What was kept although it is past its time, a line for each month.
  var kept: [String] {
    report.unclosedMonths.map { month in
      "What is past its time in \(month) is kept, since the month is not closed. Close it with "
        + "\(BilledMonth.commandToClose(month)), and purge again."
    }
  }

  var json: JSONValue {
    [
      "dry_run": .bool(isDry), "complete": .bool(report.isComplete && objects.left == 0),
      "removed": .array(
        report.lines.map { line in
          [
            "kind": .string(line.kind.rawValue), "month": .month(line.month), "rows": .integer(line.rows),
            "bytes": .integer(line.bytes), "whole_month": .bool(line.isWholeMonth),
          ]
        } + line(Self.cache, cached.files, cached.bytes) + line("objects", objects.removed, 0)),
      "busy_months": .array(report.busyMonths.map { .month($0) }),
      "unclosed_months": .array(report.unclosedMonths.map { .month($0) }),
    ]
  }

  /// The line of what is of no month; none where nothing went.
  private func line(_ kind: String, _ count: Int, _ bytes: Int) -> [JSONValue] {
    guard count > 0 else { return [] }
    return [
      [
        "kind": .string(kind), "month": .null, "rows": .count(count), "bytes": .count(bytes),
        "whole_month": false,
      ]
    ]
  }

  /// What the files of images by URL are called beside the kinds of the database.
  private static let cache = "cache"

  func text(width: Int?, paint: Paint) -> String {
    var text = ""
    if hasLines {
      var table = Table([
        .init("KIND"), .init("MONTH"), .init("ROWS", alignment: .right), .init("BYTES", alignment: .right),
        .init("HOW"),
      ])
      for line in report.lines {
        table.add([
          Cell(line.kind.rawValue), Cell(line.month.description), Cell(line.rows), Cell(line.bytes),
          line.isWholeMonth ? "the whole month" : "by row",
        ])
      }
      if cached.files > 0 {
        table.add([Cell(Self.cache), "", Cell(cached.files), Cell(cached.bytes), "by file"])
      }
      if objects.removed > 0 { table.add(["objects", "", Cell(objects.removed), "", "by object"]) }
      text =
        (isDry ? "Would be removed:\n" : "Removed:\n") + table.render(width: width, paint: paint)
    } else if width != nil, report.unclosedMonths.isEmpty {
      text = "Nothing is past its time.\n"
    }
    for month in report.busyMonths {
      text += "\(month) \(paint.yellow("left")): its tables were in use; run it again later\n"
    }
    if !report.isComplete { text += "Stopped before the end; the next run goes on.\n" }
    return text
  }
}

/// Which folder of images by URL is to be swept, and how.
struct CacheArguments: Sendable {
  let folder: String
  let isDry: Bool

  static let none = CommandFailure.usage(
    "there is no cache to sweep",
    advice: "Name its folder: url-cache in the configuration file, or --url-cache.")

  /// Removes what is too old for a cache to give out, by this machine's clock, from which the files' times come.
  func sweep(_ now: @escaping @Sendable () -> Double) async throws -> CacheSweep {
    let (folder, isDry) = (folder, isDry)
    let swept = await HelperThread.value {
      Result {
        try CacheSweep(of: folder, maximumAge: CacheSettings().maximumAge.inSeconds, now: now(), isDry: isDry)
      }
    }
    guard let swept else { throw CommandFailure(.tryLater, "the system has no thread left") }
    return try swept.get()
  }
}
