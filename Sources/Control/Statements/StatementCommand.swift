import CommandLineTool
import EventLoop
import Glibc
import Images
import Queue
public import Support

enum StatementCommand {
  static let clinic = Option<String?>("clinic", .string, help: "The clinic that is billed, by name.")
  static let user = Option<String?>("user", .string, help: "The user who is billed, instead of a clinic.")
  static let month = Option(
    "month", .monthChoice, default: MonthChoice.previous, help: "YYYY-MM, current or previous.")
  static let currency = Option<String?>(
    "currency", .string, help: "Only what has a price in this currency, where there are several.")
  static let out = Option<String?>(
    "out", short: "o", .path,
    help: "Write to this file, by its ending as .pdf, .html, .xlsx or .csv: whole or not at all, readable "
      + "by you alone.")

  static let command = ControlCommand(
    "statement", abstract: "Print what a clinic or a user is billed for a month.",
    discussion: """
      Each line is a part of a user's month with one plan, limit and price: units times price, rounded half up to the \
      currency's smallest coin. What changed in earlier months since they were closed follows as adjustments.

      Until the month is closed (see analysisctl month close) the statement is a draft, without a number and without \
      adjustments. Closed, it is the same for ever: every format names the SHA-256 of the data, which is that of the \
      CSV file. Exit code 5 says that the file was there already and is the same.

      Where --products names a folder, the documents of a clinic have the name and colour of its product, or else of \
      --as-product, and its logo where the clinic has none.

      A clinic's statement counts what was found in its patients, so who reads it is recorded first: see analysisctl \
      audit. A standby cannot record it, and refuses.
      """,
    examples: [
      Example("analysisctl statement --clinic north --month 2026-10 --out statement.pdf", "To send."),
      Example("analysisctl statement --clinic north", "Last month's, on the terminal."),
      Example("analysisctl statement --user u1 --month current --json", "A draft, for a program."),
    ],
    inputs: [clinic, user, month, currency, out, ReasonOption.reason],
    exitCodes: [.done, .refused, .nothingToDo, .usage, .unreachable, .tryLater, .permission],
    feature: .statements
  ) { context in
    let holder = try holder(try context[clinic], try context[user])
    let (choice, currency, out) = (try context[month], try context[currency], try context[out])
    let file = try out.map { path throws(CommandFailure) in (path: path, format: try format(of: path)) }
    if let file { try AtomicFile.check(file.path) }
    return try await context.withSession { session in
      let request = StatementRequest(
        holder, month: try await choice.period(session.database), currency: currency)
      let statement = try await branded(
        try await Reporter(session.database).statement(
          request, by: try session.actor.statement,
          detail: (["format": .string(file?.format.rawValue ?? "terminal")] as JSONValue).json), context)
      guard let file else {
        try session.view.show(StatementResponse(statement: statement))
        return .done
      }
      let written = try await Self.write(statement, to: file.path, as: file.format)
      try session.view.show(StatementFileResponse(statement: statement, file: written))
      return written.isNew ? .done : .nothingToDo
    }
  }

  /// The statement in the name of the clinic's product, or else of the program's. Refused where that makes none.
  private static func branded(
    _ statement: MonthStatement, _ context: ControlContext
  ) async throws -> MonthStatement {
    let own = try await context.product(named: statement.holder.product)
    guard let product = own ?? context.product else { return statement }
    try product.require(.statements)
    var statement = statement
    statement.brand = .init(product.name, accent: product.accent, issuer: product.issuer)
    if statement.holder.kind == .clinic, statement.holder.logo == nil, let logo = try await product.picture()
    {
      statement.holder.logo = .init(logo.bytes, width: logo.width, height: logo.height)
    }
    return statement
  }

  private static func holder(
    _ clinic: String?, _ user: String?
  ) throws(CommandFailure) -> StatementRequest.Holder {
    switch (clinic, user) {
    case (let clinic?, nil): return .clinic(clinic)
    case (nil, let user?): return .user(user)
    default: throw .usage("a statement is of one clinic or of one user", advice: "Give --clinic or --user.")
    }
  }

  private static func format(of path: String) throws(CommandFailure) -> StatementFormat {
    guard let format = StatementFormat(path: path) else {
      throw .usage(
        "the ending of \(printable(path)) does not say how to write it",
        advice: "Name a file that ends in .pdf, .html, .xlsx or .csv.")
    }
    return format
  }

  /// Writes on a thread of its own: thousands of lines take a processor seconds.
  private static func write(
    _ statement: MonthStatement, to path: String, as format: StatementFormat
  ) async throws -> StatementFile {
    let written = await HelperThread.value { () -> Result<StatementFile, ReportsError> in
      do throws(ReportsError) {
        return .success(try statement.write(to: path, as: format))
      } catch {
        return .failure(error)
      }
    }
    guard let written else {
      throw CommandFailure(
        .tryLater, "the system has no thread left to write \(printable(path))", advice: "Try again.")
    }
    return try written.get()
  }
}

/// A statement on the terminal or for a program.
struct StatementResponse: Sendable, Equatable, Presentable {
  let statement: MonthStatement

  var json: JSONValue {
    [
      "number": .text(statement.number), "holder": .string(statement.holder.name),
      "month": .month(statement.month), "state": .string(statement.state.rawValue),
      "at": .string(statement.moment.text), "currency": .text(statement.currency),
      "units": .integer(statement.total.units), "over": .integer(statement.total.over),
      "amount": .text(statement.total.amount?.description), "sha256": .string(statement.sha256),
      "lines": .array((statement.lines + statement.adjustments).map(Self.json(of:))),
    ]
  }

  private static func json(of line: StatementLine) -> JSONValue {
    [
      "user": .string(line.user), "month": .month(line.month), "line": .string(line.kind.rawValue),
      "zone": .string(line.zone), "from": .string(line.from.text), "until": .string(line.until.text),
      "plan": .text(line.plan?.name), "limit": line.limit.map { .integer($0) } ?? .null,
      "units": .integer(line.units), "over": .integer(line.over), "price": .text(line.price?.description),
      "amount": .text(line.amount?.description), "reason": .text(line.reason),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let amount = statement.total.amount.map { "\($0) \(statement.currency ?? "")" }
    let facts = Facts([
      ("statement", statement.number ?? "a draft"),
      (statement.holder.kind.rawValue, statement.holder.name),
      ("month", statement.month.description),
      ("closed", statement.state == .closed ? Self.clock(statement.moment) : nil),
      ("units", String(statement.total.units)),
      ("amount", amount ?? "nothing has a price"),
      ("sha256", statement.sha256),
    ])
    guard !statement.lines.isEmpty || !statement.adjustments.isEmpty else {
      return facts.text + "\nNothing was used.\n"
    }
    return facts.text + "\n" + table.render(width: width, paint: paint)
      + statement.adjustments.compactMap { line in
        line.reason.map { "\(printable(line.user)), \(line.month): \($0)\n" }
      }.joined()
  }

  private var table: Table {
    var table = Table([
      .init("USER", wraps: true), .init("FROM"), .init("UNTIL"), .init("PLAN", wraps: true),
      .init("LIMIT", alignment: .right), .init("UNITS", alignment: .right), .init("PRICE", alignment: .right),
      .init("AMOUNT", alignment: .right),
    ])
    for line in statement.lines + statement.adjustments {
      table.add([
        Cell(printable(line.user)), Cell(Self.clock(line.from)), Cell(Self.clock(line.until)),
        Cell(line.plan?.displayName ?? "-"),
        Cell(line.limit.map(String.init) ?? (line.kind == .month && line.plan != nil ? "none" : "-")),
        Cell(String(line.units)), Cell(line.price?.description ?? "-"), Cell(line.amount?.description ?? "-"),
      ])
    }
    return table
  }

  /// What the clocks of the line's zone show: a day where it is midnight, else to the minute.
  private static func clock(_ time: LocalTime) -> String {
    let text = time.text
    let (day, clock) = (text.prefix(10), text.dropFirst(11).prefix(5))
    return clock == "00:00" ? String(day) : "\(day) \(clock)"
  }
}

/// A statement that was written to a file.
struct StatementFileResponse: Sendable, Equatable, Presentable {
  let statement: MonthStatement
  let file: StatementFile

  var json: JSONValue {
    [
      "file": .string(file.path), "number": .text(statement.number), "month": .month(statement.month),
      "state": .string(statement.state.rawValue), "lines": .count(statement.lines.count),
      "adjustments": .count(statement.adjustments.count), "sha256": .string(file.dataSHA256),
      "written": .bool(file.isNew),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let done = file.isNew ? paint.green("written") : "is there already"
    let (lines, adjustments) = (statement.lines.count, statement.adjustments.count)
    return "\(printable(file.path)) \(done): \(statement.month), \(statement.state.rawValue), "
      + "\(lines == 1 ? "1 line" : "\(lines) lines"), "
      + "\(adjustments == 1 ? "1 adjustment" : "\(adjustments) adjustments"), sha256 of the data "
      + "\(file.dataSHA256)\n"
  }
}

/// A statement's file as it was written.
public struct StatementFile: Sendable, Equatable {
  /// Where it is.
  public let path: String
  /// How long it is.
  let byteCount: Int
  /// The SHA-256 of its bytes, in lower-case hexadecimal.
  public let sha256: String
  /// The SHA-256 of the statement's data, which the document names, in whatever format it is.
  let dataSHA256: String
  /// False where exactly this closed statement was there already, and was not touched.
  let isNew: Bool
}

extension MonthStatement {
  /// Writes the statement to a file that only its owner may read; it appears whole or not at all. A pipe or a device is
  /// written to.
  ///
  /// It keeps a processor busy, for many lines for seconds: call it from a thread that may be.
  /// Throws `unwritable`.
  public func write(to path: String, as format: StatementFormat) throws(ReportsError) -> StatementFile {
    try write(to: path, as: format, printer: StatementPrinter())
  }

  func write(
    to path: String, as format: StatementFormat, printer: StatementPrinter
  ) throws(ReportsError) -> StatementFile {
    do {
      var file = try AtomicFile(path)
      var existing = ExistingFile(path)
      let data = sha256
      let isFile = try AtomicFile.isFile(path)
      try write(format, data, beside: isFile ? path : "/tmp/", printer) { chunk in
        existing.compare(chunk)
        try file.write(chunk)
      }
      let (hash, byteCount) = (file.sha256, file.byteCount)
      let isThere = existing.isExactlyThat()
      if state == .closed, isThere {
        return StatementFile(path: path, byteCount: byteCount, sha256: hash, dataSHA256: data, isNew: false)
      }
      _ = try file.commit()
      return StatementFile(path: path, byteCount: byteCount, sha256: hash, dataSHA256: data, isNew: true)
    } catch let error as ReportsError {
      throw error
    } catch {
      throw ReportsError(.unwritable, "the statement was not written: \(error)", underlying: error)
    }
  }

  /// Passes on the document's bytes in chunks.
  private func write(
    _ format: StatementFormat, _ sha256: String, beside path: String, _ printer: StatementPrinter,
    to sink: ([UInt8]) throws -> Void
  ) throws {
    switch format {
    case .csv: try writeCSV(to: sink)
    case .html: try StatementPage(self, sha256: sha256).write(to: sink)
    case .pdf: try sink(try printer.pdf(self, sha256: sha256))
    case .xlsx: try StatementWorkbook(self, sha256: sha256).write(beside: path, to: sink)
    }
  }
}

/// The documents that are made of a month's statement.
public enum StatementFormat: String, Sendable, CaseIterable {
  /// The data: comma-separated values.
  case csv
  /// One page for a browser, with charts, that loads nothing from elsewhere.
  case html
  /// A4 pages.
  case pdf
  /// A workbook of a spreadsheet.
  case xlsx

  /// The format that a file's name ends with, in small letters or capitals; nil for any other ending.
  init?(path: String) {
    let name = path.split(separator: "/").last ?? ""
    guard let point = name.lastIndex(of: "."), point != name.startIndex else { return nil }
    self.init(rawValue: name[name.index(after: point)...].lowercased())
  }
}

/// Has PDFs drawn in a program of its own, `statement-printer`, so that nothing else has to load the libraries that draw
/// them: those take longer to load than most commands take.
struct StatementPrinter {
  private let program: CompanionProgram

  init(_ program: CompanionProgram = CompanionProgram("statement-printer")) {
    self.program = program
  }

  /// The statement as PDF. It blocks.
  func pdf(_ statement: MonthStatement, sha256: String) throws -> [UInt8] {
    let input = try MemoryFile("statement", try PrintOrder(statement, sha256: sha256).bytes)
    let output = try MemoryFile("statement.pdf")
    let ending = CompanionProgram.awaitEnd(of: try start(input, output))
    let bytes = try output.bytes()
    switch ending {
    case .code(0) where bytes.starts(with: "%PDF".utf8): return bytes
    case .code(PrintOrder.refused) where !bytes.isEmpty:
      let lines = printable(String(decoding: bytes, as: UTF8.self), keeping: "\n").split(separator: "\n")
      throw ReportsError(.unwritable, String(lines[0]), advice: lines.dropFirst().first.map(String.init))
    case .code(0), .code(PrintOrder.refused), .code(PrintOrder.unreadable):
      throw failure("made no PDF: it is of another version", isInstallation: true)
    case .code(let code): throw failure("made no PDF: it ended with \(code)", isInstallation: true)
    case .signal(SIGXCPU): throw failure("made no PDF: it took more of the processor's time than it may")
    case .signal(SIGKILL): throw failure("made no PDF: it was killed, perhaps since memory was short")
    case .signal(let signal): throw failure("made no PDF: it crashed (signal \(signal))")
    case .unknown: throw failure("made no PDF: it ended for an unknown reason")
    }
  }

  private func start(
    _ input: borrowing MemoryFile, _ output: borrowing MemoryFile
  ) throws(ReportsError) -> Int32 {
    do throws(CompanionProgram.Unstarted) {
      return try program.start(input: input.descriptor, output: output.descriptor)
    } catch {
      throw failure("cannot be started: \(error.reason)", isInstallation: error.isInstallation)
    }
  }

  private func failure(_ what: String, isInstallation: Bool = false) -> ReportsError {
    ReportsError(
      .unwritable, "\(program.path) \(what)",
      advice: isInstallation
        ? "install statement-printer of this version, with the libraries that it needs, beside this program"
        : "look at the machine's memory and limits; the other formats are made without that program")
  }
}
