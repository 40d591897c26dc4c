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
      let request = BillRequest(
        holder, month: try await choice.period(session.database), currency: currency)
      let bill = try await branded(
        try await Reporter(session.database).bill(
          request, by: try session.actor.statement,
          detail: (["format": .string(file?.format.rawValue ?? "terminal")] as JSONValue).json), context)
      guard let file else {
        return try session.show(BillResponse(bill: bill))
      }
      let written = try await Self.write(bill, to: file.path, as: file.format)
      try session.view.show(BillFileResponse(bill: bill, file: written))
      return written.isNew ? .done : .nothingToDo
    }
  }

  /// The statement in the name of the clinic's product, or else of the program's. Refused where that makes none.
  private static func branded(
    _ bill: Bill, _ context: ControlContext
  ) async throws -> Bill {
    let own = try await context.product(named: bill.holder.product)
    guard let product = own ?? context.product else { return bill }
    try product.require(.statements)
    var bill = bill
    bill.brand = .init(product.name, accent: product.accent, issuer: product.issuer)
    if bill.holder.kind == .clinic, bill.holder.logo == nil, let logo = try await product.picture() {
      bill.holder.logo = .init(logo.bytes, width: logo.width, height: logo.height)
    }
    return bill
  }

  private static func holder(
    _ clinic: String?, _ user: String?
  ) throws(CommandFailure) -> BillRequest.Holder {
    switch (clinic, user) {
    case (let clinic?, nil): return .clinic(clinic)
    case (nil, let user?): return .user(user)
    default: throw .usage("a statement is of one clinic or of one user", advice: "Give --clinic or --user.")
    }
  }

  private static func format(of path: String) throws(CommandFailure) -> BillFormat {
    guard let format = BillFormat(path: path) else {
      throw .usage(
        "the ending of \(printable(path)) does not say how to write it",
        advice: "Name a file that ends in .pdf, .html, .xlsx or .csv.")
    }
    return format
  }

  /// Writes on a thread of its own: thousands of lines take a processor seconds.
  private static func write(
    _ bill: Bill, to path: String, as format: BillFormat
  ) async throws -> BillFile {
    let written = await HelperThread.value { () -> Result<BillFile, ReportsError> in
      do throws(ReportsError) {
        return .success(try bill.write(to: path, as: format))
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
struct BillResponse: Sendable, Equatable, Presentable {
  let bill: Bill

  var json: JSONValue {
    [
      "number": .text(bill.number), "holder": .string(bill.holder.name),
      "month": .month(bill.month), "state": .string(bill.state.rawValue),
      "at": .string(bill.moment.text), "currency": .text(bill.currency),
      "units": .integer(bill.total.units), "over": .integer(bill.total.over),
      "amount": .text(bill.total.amount?.description), "sha256": .string(bill.sha256),
      "lines": .array((bill.lines + bill.adjustments).map(Self.json(of:))),
    ]
  }

  private static func json(of line: BillLine) -> JSONValue {
    [
      "user": .string(line.user), "month": .month(line.month), "line": .string(line.kind.rawValue),
      "zone": .string(line.zone), "from": .string(line.from.text), "until": .string(line.until.text),
      "plan": .text(line.plan?.name), "limit": line.limit.map { .integer($0) } ?? .null,
      "units": .integer(line.units), "over": .integer(line.over), "price": .text(line.price?.description),
      "amount": .text(line.amount?.description), "reason": .text(line.reason),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let amount = bill.total.amount.map { "\($0) \(bill.currency ?? "")" }
    let facts = Facts([
      ("statement", bill.number ?? "a draft"),
      (bill.holder.kind.rawValue, bill.holder.name),
      ("month", bill.month.description),
      ("closed", bill.state == .closed ? Self.clock(bill.moment) : nil),
      ("units", String(bill.total.units)),
      ("amount", amount ?? "nothing has a price"),
      ("sha256", bill.sha256),
    ])
    guard !bill.lines.isEmpty || !bill.adjustments.isEmpty else {
      return facts.text + "\nNothing was used.\n"
    }
    return facts.text + "\n" + table.render(width: width, paint: paint)
      + bill.adjustments.compactMap { line in
        line.reason.map { "\(printable(line.user)), \(line.month): \($0)\n" }
      }.joined()
  }

  private var table: Table {
    (bill.lines + bill.adjustments).table([
      .init("USER", wraps: true) { Cell(printable($0.user)) },
      .init("FROM") { Cell(Self.clock($0.from)) },
      .init("UNTIL") { Cell(Self.clock($0.until)) },
      .init("PLAN", wraps: true) { Cell($0.plan?.displayName ?? "-") },
      .init("LIMIT", alignment: .right) {
        Cell($0.limit.map(String.init) ?? ($0.kind == .month && $0.plan != nil ? "none" : "-"))
      },
      .init("UNITS", alignment: .right) { Cell(String($0.units)) },
      .init("PRICE", alignment: .right) { Cell($0.price?.description ?? "-") },
      .init("AMOUNT", alignment: .right) { Cell($0.amount?.description ?? "-") },
    ])
  }

  /// What the clocks of the line's zone show: a day where it is midnight, else to the minute.
  private static func clock(_ time: LocalTime) -> String {
    let text = time.text
    let (day, clock) = (text.prefix(10), text.dropFirst(11).prefix(5))
    return clock == "00:00" ? String(day) : "\(day) \(clock)"
  }
}

/// A statement that was written to a file.
struct BillFileResponse: Sendable, Equatable, Presentable {
  let bill: Bill
  let file: BillFile

  var json: JSONValue {
    [
      "file": .string(file.path), "number": .text(bill.number), "month": .month(bill.month),
      "state": .string(bill.state.rawValue), "lines": .count(bill.lines.count),
      "adjustments": .count(bill.adjustments.count), "sha256": .string(file.dataSHA256),
      "written": .bool(file.isNew),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let done = file.isNew ? paint.green("written") : "is there already"
    let (lines, adjustments) = (bill.lines.count, bill.adjustments.count)
    return "\(printable(file.path)) \(done): \(bill.month), \(bill.state.rawValue), "
      + "\(lines == 1 ? "1 line" : "\(lines) lines"), "
      + "\(adjustments == 1 ? "1 adjustment" : "\(adjustments) adjustments"), sha256 of the data "
      + "\(file.dataSHA256)\n"
  }
}

/// A statement's file as it was written.
public struct BillFile: Sendable, Equatable {
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

extension Bill {
  /// Writes the statement to a file that only its owner may read; it appears whole or not at all. A pipe or a device is
  /// written to.
  ///
  /// It keeps a processor busy, for many lines for seconds: call it from a thread that may be.
  /// Throws `unwritable`.
  public func write(to path: String, as format: BillFormat) throws(ReportsError) -> BillFile {
    try write(to: path, as: format, printer: BillPrinter())
  }

  func write(
    to path: String, as format: BillFormat, printer: BillPrinter
  ) throws(ReportsError) -> BillFile {
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
        return BillFile(path: path, byteCount: byteCount, sha256: hash, dataSHA256: data, isNew: false)
      }
      _ = try file.commit()
      return BillFile(path: path, byteCount: byteCount, sha256: hash, dataSHA256: data, isNew: true)
    } catch let error as ReportsError {
      throw error
    } catch {
      throw ReportsError(.unwritable, "the statement was not written: \(error)", underlying: error)
    }
  }

  /// Passes on the document's bytes in chunks.
  private func write(
    _ format: BillFormat, _ sha256: String, beside path: String, _ printer: BillPrinter,
    to sink: ([UInt8]) throws -> Void
  ) throws {
    switch format {
    case .csv: try writeCSV(to: sink)
    case .html: try BillPage(self, sha256: sha256).write(to: sink)
    case .pdf: try sink(try printer.pdf(self, sha256: sha256))
    case .xlsx: try BillWorkbook(self, sha256: sha256).write(beside: path, to: sink)
    }
  }
}

/// The documents that are made of a month's statement.
public enum BillFormat: String, Sendable, CaseIterable {
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
struct BillPrinter {
  private let program: CompanionProgram

  init(_ program: CompanionProgram = CompanionProgram("statement-printer")) {
    self.program = program
  }

  /// The statement as PDF. It blocks.
  func pdf(_ bill: Bill, sha256: String) throws -> [UInt8] {
    let input = try MemoryFile("statement", try PrintOrder(bill, sha256: sha256).bytes)
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
