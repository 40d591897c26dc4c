import CommandLineTool
import FoundationEssentials
import Images
import PostgreSQL
import Queue
import Support

/// What the command line of a submit says, and the items that follow from it.
struct SubmitArguments: Sendable {
  private let user: String?
  private let kind: AnalysisKind?
  private let priority: Priority
  private let at: Double?
  private let expires: Double?
  private let reference: String?
  private let runKey: String
  private let manifest: String?
  private let files: [String]
  private let urls: [String]
  let remote: RemoteImageArguments
  let limits: ImageLimits
  let waiting: SubmitRun.Waiting
  let paidBefore: PaidBefore.Choice
  let batchName: String?
  let isVerbose: Bool
  let readsResults: Bool
  /// Where findings are written; nil for nowhere.
  let out: String?

  /// How files name standard input.
  private static let standardInput = "-"

  init(_ context: ControlContext, runKey: String) throws {
    // An encrypted image is bound to the name as the database keeps it.
    user = try context[SubmitCommand.user]?.composed
    kind = try context[SubmitCommand.kind]
    priority = try context[SubmitCommand.priority]
    at = try context[SubmitCommand.at]?.timeIntervalSince1970
    expires = try context[SubmitCommand.expires]?.timeIntervalSince1970
    reference = try context[SubmitCommand.reference]
    self.runKey = runKey
    manifest = try context[SubmitCommand.manifest]
    files = try context[SubmitCommand.files]
    urls = try context[SubmitCommand.urls]
    remote = try RemoteImageArguments(context)
    limits = ImageLimits(
      maxDimension: try context[SubmitCommand.maxDimension], minSide: try context[SubmitCommand.minSide])
    let (again, onlyNew) = (try context[SubmitCommand.again], try context[SubmitCommand.onlyNew])
    if again, onlyNew { throw CommandFailure.usage("--again and --only-new cannot be given together") }
    paidBefore = again ? .again : onlyNew ? .onlyNew : .ask
    batchName = try context[SubmitCommand.name]
    isVerbose = try context[SubmitCommand.verbose]
    readsResults = try context[SubmitCommand.results]
    out = try context[SubmitCommand.out]
    if let out { try AtomicFile.check(out) }
    let timeout = try context[SubmitCommand.timeout]
    let waits = try context[SubmitCommand.wait]
    waiting = waits ? timeout.map { .atMost($0) } ?? .untilAllEnd : .none
    if timeout != nil, !waits { throw CommandFailure.usage("--timeout is of use only with --wait") }
    if readsResults, !waits {
      throw CommandFailure.usage("--results is of use only with --wait")
    }
    if out != nil, !readsResults {
      throw CommandFailure.usage("--out is of use only with --wait --results")
    }
    try check()
  }

  private func check() throws(CommandFailure) {
    if manifest == nil {
      guard !files.isEmpty || !urls.isEmpty else {
        throw .usage("nothing to submit is named", advice: "Name files or a folder, or give --manifest.")
      }
      guard user != nil else { throw .usage("--user is required") }
      guard kind != nil else { throw .usage("--type is required: throat or ear") }
    } else if !files.isEmpty || !urls.isEmpty {
      throw .usage("files and --manifest cannot be given together")
    }
    if !urls.isEmpty, !remote.isOn { throw remote.off }
    if files.filter({ $0 == Self.standardInput }).count > 1 {
      throw .usage("standard input (-) can be submitted once")
    }
    if let at, let expires, expires <= at { throw .usage("--expires must be after --at") }
  }

  /// The items in their order. Folders and the manifest are read here, images are not, but for one on
  /// standard input.
  func items(_ context: ControlContext) async throws -> SubmitList {
    // Reading blocks, so it is done where threads may wait.
    let reading = Task(executorPreference: globalConcurrentExecutor) {
      try manifest.map { SubmitList(items: try rows(of: $0, context.dependencies)) } ?? named(context)
    }
    return try await reading.value
  }

  // MARK: - Files, folders and addresses

  private func named(_ context: ControlContext) throws -> SubmitList {
    var leftOut: [String] = []
    var sources: [(name: String, source: SubmitItem.Source)] = []
    for file in files {
      if file == Self.standardInput {
        let bytes = try context.dependencies.standardInput(limits.maxBytes)
        sources.append(("standard input", .bytes(bytes)))
      } else if InputFile.isFolder(file) {
        let listing = try FolderListing(file)
        sources += listing.images.map { ($0, .file($0)) }
        leftOut += SubmitList.leftOut(of: FileName.shown(file), listing)
      } else {
        sources.append((file, .file(file)))
      }
    }
    var keys = KeyMaker(runKey: runKey, isSingle: sources.count + urls.count == 1)
    let files = sources.map { name, source in
      SubmitItem(
        name: FileName.shown(name), source: source, user: user, kind: kind, priority: priority, runAt: at,
        expiresAt: expires, key: keys.key(user: user ?? "", name: name), reference: reference)
    }
    let addresses = urls.enumerated().map { index, url in
      SubmitItem(
        name: Self.name(of: url, at: "URL \(index + 1)"), source: .url(url), user: user, kind: kind,
        priority: priority, runAt: at, expiresAt: expires, key: keys.key(user: user ?? "", name: url),
        storedName: Self.storedName(of: url), reference: reference)
    }
    return SubmitList(items: files + addresses, leftOut: leftOut)
  }

  /// How an address is known to people: by where it was given, and its host.
  private static func name(of url: String, at position: String) -> String {
    RemoteAddress.host(of: url).map { "\(position) (\($0))" } ?? position
  }

  /// What is stored of an address.
  private static func storedName(of url: String) -> String {
    RemoteAddress.host(of: url) ?? "URL"
  }

  // MARK: - Manifest

  private func rows(of manifest: String, _ dependencies: Dependencies) throws -> [SubmitItem] {
    let isStandardInput = manifest == Self.standardInput
    let name = isStandardInput ? "standard input" : FileName.shown(manifest)
    let bytes =
      isStandardInput
      ? try dependencies.standardInput(Manifest.limit)
      : try InputFile.readText(manifest, limit: Manifest.limit)
    let rows = try Manifest.rows(bytes, name: name)
    if !remote.isOn, rows.contains(where: \.namesURL) { throw remote.off }
    var keys = KeyMaker(runKey: runKey, isSingle: false)
    let folder = isStandardInput ? nil : Self.folder(of: manifest)
    return rows.map { item($0, of: name, in: folder, &keys) }
  }

  /// Files are named from the manifest's own folder on.
  private static func folder(of path: String) -> String? {
    path.lastIndex(of: "/").map { String(path[...$0]) }
  }

  private func item(
    _ row: ManifestRow, of manifest: String, in folder: String?, _ keys: inout KeyMaker
  ) -> SubmitItem {
    let position = "\(manifest):\(row.line)"
    switch row.content {
    case .failure(let fault):
      return refused(position, fault.sentence, &keys)
    case .success(let content):
      guard let user = content.user?.composed ?? user else {
        return refused(position, "it names no user, and there is no --user", &keys)
      }
      guard let kind = content.kind ?? kind else {
        return refused(position, "it names no type, and there is no --type", &keys)
      }
      let (name, source, identity, storedName) = Self.source(content.source, position, in: folder)
      return SubmitItem(
        name: name, source: source, user: user, kind: kind, priority: content.priority ?? priority,
        runAt: content.at ?? at, expiresAt: content.expires ?? expires,
        key: content.key ?? keys.key(user: user, name: identity), storedName: storedName,
        reference: content.reference ?? reference)
    }
  }

  /// How what a row names is shown, where it comes from, what its key is made of, and what is stored of its name.
  private static func source(
    _ source: ManifestRow.Source, _ position: String, in folder: String?
  ) -> (name: String, SubmitItem.Source, identity: String, storedName: String?) {
    switch source {
    case .file(let file):
      let path = file.hasPrefix("/") ? file : (folder ?? "") + file
      return (FileName.shown(path), .file(path), path, nil)
    case .url(let url): return (name(of: url, at: position), .url(url), url, storedName(of: url))
    }
  }

  private func refused(_ position: String, _ sentence: String, _ keys: inout KeyMaker) -> SubmitItem {
    let refusal = Refusal(
      code: "manifest_row", sentence: "The row cannot be used: \(sentence).",
      advice: "Mend the row, and submit it.")
    return SubmitItem(
      name: position, source: .none(refusal), user: user, kind: kind, priority: priority, runAt: nil,
      expiresAt: nil, key: keys.key(user: user ?? "", name: position))
  }
}

/// What a submit was asked for.
struct SubmitList: Sendable, Equatable {
  /// In the order given.
  var items: [SubmitItem]
  /// What of named folders is not among them, in sentences.
  var leftOut: [String] = []

  /// How many names a sentence has.
  private static let named = 10

  /// What of a folder is not submitted.
  static func leftOut(of folder: String, _ listing: FolderListing) -> [String] {
    [("the folders in it", listing.folders), ("files not called like an image", listing.others)]
      .filter { !$0.1.isEmpty }
      .map { what, names in
        let shown = names.prefix(named).map { FileName.shown($0) }.joined(separator: ", ")
        let more = names.count > named ? " and \(names.count - named) more" : ""
        return "\(folder): left out \(what): \(shown)\(more)"
      }
  }
}

/// One image that a submit was asked for.
struct SubmitItem: Sendable, Equatable {
  enum Source: Sendable, Equatable {
    /// A file to be read when its turn comes.
    case file(String)
    /// Bytes that are here already.
    case bytes([UInt8])
    /// What is at an address, fetched when its turn comes.
    case url(String)
    /// Nothing that could be submitted, and why.
    case none(Refusal)
  }

  /// How the person who submits knows it: the path as given, the manifest's line, or the position of an address
  /// among the others with its host. The rest of an address may be a secret and is shown nowhere.
  let name: String
  let source: Source
  /// Nil only where nothing can be submitted.
  let user: String?
  /// Nil only where nothing can be submitted.
  let kind: AnalysisKind?
  let priority: Priority
  /// Seconds since 1970.
  let runAt: Double?
  /// Seconds since 1970.
  let expiresAt: Double?
  let key: String
  /// What is stored of its name; nil for the name without its folders.
  var storedName: String?
  /// What the submitter calls the job; nil for nothing.
  var reference: String?

  /// Whether it has to be fetched.
  var isByURL: Bool {
    if case .url = source { true } else { false }
  }
}

/// Gives each image of a run its idempotency key.
///
/// The keys follow from the run's key and the files' names alone, so that the same command with the same
/// `--key` submits only what is missing.
struct KeyMaker {
  private let runKey: String
  private let isSingle: Bool
  private var occurrences: [String: Int] = [:]

  /// `isSingle`: the run's key is the only image's.
  init(runKey: String, isSingle: Bool) {
    self.runKey = runKey
    self.isSingle = isSingle
  }

  /// The key of the next image of a user. A file that is named twice has a second key, for where it is meant twice.
  mutating func key(user: String, name: String) -> String {
    if isSingle { return runKey }
    let identity = "\(user)\u{0}\(name)"
    let occurrence = occurrences[identity, default: 0] + 1
    occurrences[identity] = occurrence
    let digest = SHA256.digest(of: Array("\(identity)\u{0}\(occurrence)".utf8))
    return "\(runKey):\(Hexadecimal.text(of: digest.prefix(16)))"
  }
}

/// Looks, before anything is submitted, which pictures are paid for this month already.
struct PaidBefore: Sendable {
  /// What is to be done with such pictures.
  enum Choice: Sendable, Equatable {
    /// Ask on a terminal, refuse elsewhere.
    case ask
    /// Submit them, and pay twice.
    case again
    case onlyNew
  }

  let choice: Choice
  let submitter: Submitter
  let intake: ImageIntake
  let session: ControlSession

  /// The items that are to be submitted.
  ///
  /// - Throws: `CommandFailure` with `paidBefore` where nothing is to be.
  func agreed(_ items: [SubmitItem]) async throws -> [SubmitItem] {
    guard choice != .again else { return items }
    let paid = try await paid(items)
    if paid.isEmpty { return items }
    let of = "\(paid.count) of \(items.count)"
    if choice == .onlyNew {
      session.console.say("Left out as analysed this month, or about to be: \(of).")
      return items.indices.filter { !paid.contains($0) }.map { items[$0] }
    }
    let what = "\(of) were submitted this month, or within a day, under another key, and are paid for."
    guard let isYes = try await Confirmation.ask("\(what) Submit all, and pay for them twice?", session)
    else {
      throw CommandFailure(
        .paidBefore, "\(what) Nothing was submitted.",
        advice: "Give --only-new to submit the others, or --again to pay twice.")
    }
    guard isYes else {
      throw CommandFailure(
        .paidBefore, "Nothing was submitted.", advice: "Give --only-new to submit the others alone.")
    }
    return items
  }

  /// The indices of the items that are paid for.
  ///
  /// A picture is known by the hash of what is stored, so it has to be read and cleaned to be asked for. That is done
  /// for those alone whose user has jobs of the type this month, and whose key is new.
  private func paid(_ items: [SubmitItem]) async throws -> Set<Int> {
    let asked = items.indices.filter { Self.question(items[$0], nil) != nil }
    let open = try await submitter.billedBefore(asked.compactMap { Self.question(items[$0], nil) })
      .sorted().map { asked[$0] }
    let hashed = try await hashed(open, of: items)
    let paid = Set(try await submitter.billedBefore(hashed.map(\.question)).map { hashed[$0].index })
    let known = asked.filter { !open.contains($0) }
    guard !paid.isEmpty, !known.isEmpty else { return paid }
    // Where a run is carried on, what is there twice is paid for by the other one of the same run.
    let others = Set(try await self.hashed(known, of: items).map { Picture($0.question) })
    return paid.subtracting(hashed.filter { others.contains(Picture($0.question)) }.map(\.index))
  }

  /// What makes a picture the same as another, whatever its key.
  private struct Picture: Hashable {
    let user: String
    let kind: AnalysisKind
    let sha256: [UInt8]?

    init(_ question: PictureInQuestion) {
      (user, kind, sha256) = (question.user, question.kind, question.sha256)
    }
  }

  /// The items at the indices whose pictures can be read and cleaned, with their hashes.
  private func hashed(
    _ indices: [Int], of items: [SubmitItem]
  ) async throws -> [(index: Int, question: PictureInQuestion)] {
    var hashed: [(index: Int, question: PictureInQuestion)] = []
    var rest = indices[...]
    while !rest.isEmpty {
      let interruption = session.interruption
      let chunk = await intake.chunk(rest.map { items[$0] }[...]) { interruption.isAsked }
      try Task.checkCancellation()
      guard !chunk.isEmpty else { break }
      for (index, prepared) in zip(rest, chunk) {
        if case .success(let image) = prepared.image,
          let question = Self.question(items[index], image.image.sha256)
        {
          hashed.append((index, question))
        }
      }
      // Where no image can be cleaned here, the submit says so.
      if chunk.contains(where: { $0.fault != nil }) { break }
      rest = rest.dropFirst(chunk.count)
    }
    return hashed
  }

  private static func question(_ item: SubmitItem, _ sha256: [UInt8]?) -> PictureInQuestion? {
    guard let user = item.user, let kind = item.kind, !user.isEmpty, !user.contains("\0") else { return nil }
    switch item.source {
    // What is at an address is fetched once, when its turn comes: the address may be good for one time only.
    case .none, .url: return nil
    case .file, .bytes: break
    }
    return PictureInQuestion(user: user, kind: kind, key: item.key, sha256: sha256)
  }
}
