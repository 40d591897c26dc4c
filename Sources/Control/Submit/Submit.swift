import CommandLineTool
import FoundationEssentials
import Images
import PostgreSQL
import Queue
import Support

enum SubmitCommand {
  static let user = Option<String?>(
    "user", short: "u", .string, help: "Whose images they are. A manifest's column comes before it.")
  static let kind = Option<AnalysisKind?>(
    "type", short: "t", .choice(AnalysisKind.self),
    help: "What the images show. A manifest's column comes before it.")
  static let priority = Option(
    "priority", short: "p", .choice(Priority.self), default: .normal,
    help: "How soon they are wanted. A manifest's column comes before it.")
  static let at = Option<Date?>(
    "at", .time, help: "Run them from this time on, and count them in its month: 2026-12-01T08:00:00Z.")
  static let expires = Option<Date?>(
    "expires", .time, help: "They are not wanted after this time; what has not run by then fails.")
  static let key = Option<String?>(
    "key", SubmitLimitsOfText.runKey,
    help: "The run's idempotency key: what was submitted under it before is not submitted again.")
  static let name = Option<String?>(
    "name", SubmitLimitsOfText.batchName,
    help: "What the batch is called; without it, it is known by its number and date.")
  static let reference = Option<String?>(
    "reference", SubmitLimitsOfText.reference,
    help:
      "What you call the jobs, such as the number of a visit, to find them by. A manifest's column comes before it."
  )
  static let again = Flag(
    "again", help: "Submit what is paid for this month already, or is here several times, and pay for each.")
  static let onlyNew = Flag("only-new", help: "Leave out what is paid for this month already.")
  static let verbose = Flag("verbose", help: "Print a line for each image, not for the batch alone.")
  static let results = Flag("results", help: "With --wait: print what was found in each image.")
  static let out = Option<String?>(
    "out", .path, help: "With --results: write what was found to this file too, as CSV.")
  static let manifest = Option<String?>(
    "manifest", .path,
    help:
      "A list of images: CSV with a header (commas or semicolons) of \(ManifestColumn.list), or JSON Lines; - for "
      + "standard input.")
  static let urls = Option<[String]>(
    repeating: "url", .string, valueName: "URL",
    help:
      "An image by its https address, after the files; its host must be one of --url-hosts. An address that is "
      + "a secret is better given in a manifest: other users of this machine can read command lines.")
  static let wait = Flag("wait", help: "Wait until the jobs have ended; exit 1 if one failed.")
  static let timeout = Option<Duration?>("timeout", .duration, help: "Wait at most so long; then exit 75.")
  static let maxDimension = Option<Int?>(
    "max-dimension", .int(in: 16...65_500), key: "max-dimension",
    help: "Scale images down so that neither side has more pixels; the endpoint advises 224.")
  static let minSide = Option<Int?>(
    "min-side", .int(in: 16...65_500), key: "min-side",
    help: "Scale images down so that the shorter side has no more pixels; the endpoint's models see 224.")
  static let files = Argument(
    repeating: "file", .path,
    help: "Images, folders of images (not what is in folders below), or - for one image on standard input.")

  static let command = ControlCommand(
    "submit", abstract: "Submit images to be analysed.", discussion: discussion,
    examples: [
      Example("analysisctl submit --user u1 --type throat photo.jpg", "One image."),
      Example("analysisctl submit --user u1 --type ear photos/", "The images of a folder, by name."),
      Example(
        "analysisctl submit --manifest batch.csv --json", "What a list names; a line of JSON for each."),
      Example(
        "camera | analysisctl submit --user u1 --type throat --priority urgent -", "One from a pipe."),
      Example(
        "analysisctl submit --user u1 --type throat --key ward-3 --wait photos/",
        "Safe to repeat; wait for the ends."),
      Example(
        "analysisctl submit -u u1 -t ear --name 'ward 3' --reference visit-4711 photos/",
        "A batch with a name, its jobs to be found by the visit."),
      Example(
        "analysisctl submit -u u1 -t ear --wait --results --out results.csv photos/",
        "What was found, on the terminal and in a file."),
      Example(
        "analysisctl submit --user u1 --type ear --key-file image.keys photos/",
        "Encrypted before they are stored."),
      Example(
        "analysisctl submit --user u1 --type ear --url https://img.example.org/7.jpg",
        "One by its address, where --url-hosts allows it."),
    ],
    inputs: [
      user, kind, priority, at, expires, key, name, reference, again, onlyNew, verbose, manifest, urls,
      RemoteImageOptions.hosts,
      RemoteImageOptions.cache, RemoteImageOptions.cacheSize, wait, results, out, timeout, maxDimension,
      minSide,
      KeyFileOption.path, SharedOptions.imageStore, files,
    ],
    exitCodes: [
      .done, .jobFailed, .quotaRefused, .refused, .nothingToDo, .paidBefore, .usage, .unreadableInput,
      .unreachable,
      .tryLater, .permission,
    ]
  ) { context in
    try await run(context)
  }

  private static let discussion = """
    JPEG and PNG are accepted, whatever the files are called, and cleaned before they are stored: metadata is \
    removed and the picture turned upright. A file that is refused does not stop the others.

    What one run submits is a batch: analysisctl batches shows how far it is, waits for it and cancels it. A line \
    for the batch is printed, and one for each job that failed while --wait waited; --verbose prints one for each \
    image, --json always.

    A picture that its user has submitted this month, or within a day, as the same type and under another key, is paid \
    for; to submit it again costs another unit. So the pictures of users who have such jobs are looked at first. On a terminal \
    the command asks; elsewhere nothing is submitted and the exit code is 9, unless --again or --only-new says what \
    is meant. Jobs that died or were cancelled cost nothing and do not count. A picture that is here several times \
    for one user and type is one job, unless --again is given; the summary says how many there were.

    A manifest is CSV (RFC 4180, with a header; its cells may be separated by semicolons) or JSON Lines, with these columns or members: \
    \(ManifestColumn.list). Only file, counted from the manifest's own folder, or url is needed; for what a row \
    leaves out the options count. A row that cannot be used is refused with its line.

    Images by URL are off unless --url-hosts names the hosts that they may come from. They are fetched by https \
    alone, from public addresses alone, without following redirects, and then judged and cleaned like files. One \
    that is refused or cannot be fetched does not stop the others. Messages name its host and never the rest of \
    the address; the host is also what is stored as its name.

    A user's images are taken in the order given, as many as the monthly limit allows; the rest are refused by \
    name.

    With --key-file the images are encrypted here, under a key that the database never sees; the workers need the \
    same file. An image that the user has stored this month already stays as it is.

    Every image is submitted under an idempotency key, so that nothing is submitted twice when a connection is \
    lost. One image has the key --key itself; of several, each has one that follows from --key and the name as \
    given, unless the manifest has one. A command repeated with the same --key and the same names submits only \
    what is missing. Without --key a run has a random one, so that a repeat is another run; --json tells each \
    image's key, and a run that stops early tells the run's, with which it can be carried on. A key that was \
    used before for another image or type is refused.

    A database that goes away while images are submitted is waited for, 30 s at most; one that goes away under \
    --wait is waited for as long as the jobs are.

    Ctrl-C lets the call that is under way finish, submits no more, and says how many are in and how to wait for \
    them.

    The exit code is the first of these that holds: 1 a job failed or was cancelled while --wait waited; 75 the \
    command was interrupted, --timeout was over, or no image can be decoded here; 66 a file could not be read, though \
    others may be submitted; 4 something was refused for \
    another reason than the monthly limit; 3 something was refused by the monthly limit.
    """

  private static func run(_ context: ControlContext) async throws -> ExitCode {
    let runKey = try context[key] ?? context.dependencies.runKey()
    let arguments = try SubmitArguments(context, runKey: runKey)
    let list = try await arguments.items(context)
    guard !list.items.isEmpty else {
      for line in list.leftOut { context.console.say(line) }
      context.console.say("There is nothing to submit.")
      return .nothingToDo
    }
    let keys = try await KeyFileOption.read(context)
    var database = ConnectionConfiguration(try context[CommonOptions.database])
    // Short questions, and a back-end waits: where the server is frozen another one is asked soon.
    database.defaultDeadline = .seconds(15)
    return try await context.withSession(database: database) { session in
      try await ImageStoreOption.with(session) { store in
        let rules = try await ShardDirectory(session.database).imageRules()
        let newImages = try await NewImages.read(session.database, store: store, hasKeys: keys != nil)
        return try await arguments.remote.withCache(
          session, keys: keys, limits: arguments.limits, isNeeded: list.items.contains(where: \.isByURL)
        ) { remote in
          var intake = ImageIntake(limits: arguments.limits, rules: rules, keys: keys, remote: remote)
          let submitter = Submitter(session.database)
          let items = try await PaidBefore(
            choice: arguments.paidBefore, submitter: submitter, intake: intake, session: session
          ).agreed(list.items)
          // What was looked at only is not written.
          intake.newImages = newImages
          return try await submit(
            SubmitList(items: items, leftOut: list.leftOut), by: submitter, intake, arguments, runKey, session
          )
        }
      }
    }
  }

  /// Submits what is agreed on, waits if that is asked for, and tells what it came to.
  private static func submit(
    _ list: SubmitList, by submitter: Submitter, _ intake: ImageIntake, _ arguments: SubmitArguments,
    _ runKey: String, _ session: ControlSession
  ) async throws -> ExitCode {
    guard !list.items.isEmpty else {
      session.console.say("There is nothing new to submit.")
      return .nothingToDo
    }
    let report = SubmitReport(
      view: session.view, total: list.items.count, isWaiting: arguments.waiting != .none,
      isVerbose: arguments.isVerbose)
    let response = await SubmitRun(
      items: list.items, waiting: arguments.waiting,
      batch: SubmitRun.Batch(name: arguments.batchName, key: runKey),
      takesEachOnce: arguments.paidBefore != .again,
      reader: arguments.readsResults ? session.actor(nil) : nil, intake: intake,
      database: session.database, submitter: submitter, interruption: session.interruption, report: report
    ).run()
    try report.finish(response, runKey: runKey, leftOut: list.leftOut)
    if let out = arguments.out, !response.results.isEmpty {
      do {
        try await FindingsFile.write(response.results, to: out)
      } catch let error as SystemError {
        let batch = response.batch.map { " (\($0))" } ?? ""
        throw CommandFailure(
          ExitCode(of: error),
          "the images are submitted\(batch), but what was found is not in the file: \(error)",
          advice: "Run the command again with --key \(printable(runKey)) and a place with room: "
            + "nothing is submitted twice.")
      }
    }
    if let failure = response.failure, !response.isInterrupted { throw failure }
    return response.isInterrupted ? .tryLater : response.tally.exitCode
  }
}

/// The lengths of texts that the database takes.
enum SubmitLimitsOfText {
  /// A key has at most 200 characters.
  static let key = ValueFormat<String>.string.refined { key in
    key.unicodeScalars.count <= 200 ? nil : "is longer than 200 characters"
  }

  /// A key that others are derived from leaves them 50 characters.
  static let runKey = ValueFormat<String>.string.refined { key in
    key.unicodeScalars.count <= 150 ? nil : "is longer than 150 characters"
  }

  /// What is kept of a reference.
  static let reference = ValueFormat<String>.string.refined(Submission.faultOfReference)

  /// What a batch may be called.
  static let batchName = ValueFormat<String>.string.refined { name in
    guard name.unicodeScalars.count <= 100 else { return "is longer than 100 characters" }
    return printable(name) == name ? nil : "has characters that cannot be seen"
  }

  /// What is kept of a file's name, in characters.
  static let sourceName = 500
}
