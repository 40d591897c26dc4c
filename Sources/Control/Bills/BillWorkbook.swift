import Cxlsxwriter
import Glibc
import Support

/// A statement as a workbook: a sheet that says what it is with its totals, and a sheet of the data's lines. Numbers
/// and times are cells of their kind; text is text, whatever it begins with.
struct BillWorkbook {
  private let bill: Bill
  private let words: BillWords

  init(_ bill: Bill, sha256: String) {
    self.bill = bill
    words = BillWords(bill, sha256: sha256)
  }

  /// Passes on the workbook. It is made in memory; what is still loose of it lies in files without a name in the folder
  /// of `path`, where the workbook goes.
  func write(beside path: String, to sink: ([UInt8]) throws -> Void) throws {
    let file = try MemoryFile("statement.xlsx")
    let slash = path.lastIndex(of: "/")
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    try fill("/proc/self/fd/\(file.descriptor)", temporary: folder)
    let bytes = try file.bytes()
    let rows = 1 + bill.lines.count + bill.adjustments.count
    let picture = bill.holder.logo?.bytes
    guard
      WorkbookCheck(bytes: bytes).isWhole(sheet: "xl/worksheets/sheet2.xml", rows: rows, picture: picture)
    else {
      throw Self.error("it was not whole")
    }
    try sink(bytes)
  }

  private func fill(_ path: String, temporary folder: String) throws {
    try folder.withCString { folder in
      var options = lxw_workbook_options(
        constant_memory: 1, tmpdir: UnsafeMutablePointer(mutating: folder), use_zip64: 0)
      guard let book = workbook_new_opt(path, &options) else { throw Self.error("no memory for it") }
      do {
        try fill(book)
      } catch {
        lxw_workbook_free(book)
        throw error
      }
      // It frees the book, whatever comes of it.
      try Self.check(workbook_close(book))
    }
  }

  private func fill(_ book: UnsafeMutablePointer<lxw_workbook>) throws {
    try describe(book)
    guard let summary = workbook_add_worksheet(book, "Statement"),
      let lines = workbook_add_worksheet(book, "Lines")
    else { throw Self.error("its sheets could not be begun") }
    var formats = WorkbookFormats(book)
    if let colour = bill.brand?.accent?.light {
      format_set_font_color(
        formats.title, UInt32(colour.red) << 16 | UInt32(colour.green) << 8 | UInt32(colour.blue))
    }
    try fillSummary(Sheet(summary), &formats)
    try fillLines(Sheet(lines), &formats)
  }

  private func describe(_ book: UnsafeMutablePointer<lxw_workbook>) throws {
    let title = "\(words.title), \(BillWords.short(bill.holder.name)), \(words.month)"
    try title.withCString { title in
      var properties = lxw_doc_properties()
      properties.title = UnsafeMutablePointer(mutating: title)
      properties.created = time_t(bill.moment.seconds)
      try Self.check(workbook_set_properties(book, &properties))
    }
  }

  /// What the statement is, and its totals.
  private func fillSummary(_ sheet: Sheet, _ formats: inout WorkbookFormats) throws {
    let total = bill.total
    try sheet.width(of: 0, 28)
    try sheet.width(of: 1, 70)
    var row: UInt32 = 0
    if let logo = bill.holder.logo {
      row = try sheet.picture(logo, words.logoText)
    }
    try sheet.put(words.title, row, 0, formats.title)
    row += 2
    func put(_ name: String, _ write: (UInt32) throws -> Void) throws {
      try sheet.put(name, row, 0, formats.bold)
      try write(row)
      row += 1
    }
    for fact in words.facts {
      // A line of an address is a row: a row is as high as one line.
      for (index, line) in fact.value.split(separator: "\n").enumerated() {
        try put(index == 0 ? fact.name : "") { try sheet.put(String(line), $0, 1, nil) }
      }
    }
    row += 1
    let counts = [
      ("Lines", Int64(bill.lines.count)), ("Adjustments", Int64(bill.adjustments.count)),
      ("Units", total.units), ("Units beyond the limits", total.over),
    ]
    for (name, count) in counts {
      try put(name) { try sheet.put(.integer(count), $0, 1, &formats, isLeft: true) }
    }
    if let amount = total.amount {
      try put(words.inCurrency("Total amount")) {
        try sheet.put(.number(amount), $0, 1, &formats, isLeft: true)
      }
    }
    row += 1
    try put(words.hash.name) { try sheet.put(words.hash.value, $0, 1, nil) }
    sheet.paper(isLandscape: false)
  }

  /// The lines of the data, with the same columns.
  private func fillLines(_ sheet: Sheet, _ formats: inout WorkbookFormats) throws {
    let columns = Bill.columns
    for (index, column) in columns.enumerated() {
      try sheet.width(of: index, Self.widths[column.name] ?? 10)
      let format = column.alignment == .right ? formats.numberHead : formats.head
      try sheet.put(column.heading, 0, index, format)
    }
    var row: UInt32 = 1
    var cells: [ReportCell] = []
    for line in bill.lines + bill.adjustments {
      cells.removeAll(keepingCapacity: true)
      bill.put(line, into: &cells)
      for (index, cell) in cells.enumerated() {
        // A currency would stand right behind its amount.
        let isBeside = columns[index].name == "currency"
        try sheet.put(cell, row, index, &formats, text: isBeside ? formats.middle : nil)
      }
      row += 1
    }
    try sheet.head(rows: 1, columns: columns.count, last: row - 1)
    sheet.paper(isLandscape: true)
  }

  private static let widths: [String: Double] = [
    "user": 26, "zone": 20, "from": 19, "until": 19, "plan": 12, "plan_name": 16, "line": 12, "amount": 13,
    "reason": 42,
  ]

  fileprivate static func check(_ outcome: lxw_error) throws {
    guard outcome != LXW_NO_ERROR else { return }
    throw error(lxw_strerror(outcome).map { String(cString: $0) } ?? "error \(outcome.rawValue)")
  }

  private static func error(_ text: String) -> ReportsError {
    ReportsError(
      .unwritable, "the workbook could not be made: \(text)",
      advice: "see whether its folder has space; a sheet has at most 1,048,576 rows, CSV has no such bound")
  }
}

/// How cells of a workbook are shown.
private struct WorkbookFormats {
  let title, bold, head, numberHead, middle, time: UnsafeMutablePointer<lxw_format>?
  private let book: UnsafeMutablePointer<lxw_workbook>
  /// Those of numbers, by how many digits they have behind the point, at the right and at the left.
  private var numbers: [NumberKind: UnsafeMutablePointer<lxw_format>] = [:]

  private struct NumberKind: Hashable {
    let digits: Int
    let isLeft: Bool
  }

  init(_ book: UnsafeMutablePointer<lxw_workbook>) {
    self.book = book
    title = workbook_add_format(book)
    format_set_bold(title)
    format_set_font_size(title, 16)
    bold = workbook_add_format(book)
    format_set_bold(bold)
    head = workbook_add_format(book)
    format_set_bold(head)
    format_set_bottom(head, UInt8(LXW_BORDER_MEDIUM.rawValue))
    numberHead = workbook_add_format(book)
    format_set_bold(numberHead)
    format_set_bottom(numberHead, UInt8(LXW_BORDER_MEDIUM.rawValue))
    format_set_align(numberHead, UInt8(LXW_ALIGN_RIGHT.rawValue))
    middle = workbook_add_format(book)
    format_set_align(middle, UInt8(LXW_ALIGN_CENTER.rawValue))
    time = workbook_add_format(book)
    format_set_num_format(time, "yyyy-mm-dd hh:mm:ss")
    format_set_align(time, UInt8(LXW_ALIGN_LEFT.rawValue))
  }

  /// That of numbers with so many digits behind the point.
  mutating func number(_ digits: Int, isLeft: Bool) -> UnsafeMutablePointer<lxw_format>? {
    let kind = NumberKind(digits: min(digits, 20), isLeft: isLeft)
    if let known = numbers[kind] { return known }
    let format = workbook_add_format(book)
    let zeros = String(repeating: "0", count: kind.digits)
    format_set_num_format(format, zeros.isEmpty ? "#,##0" : "#,##0.\(zeros)")
    if isLeft { format_set_align(format, UInt8(LXW_ALIGN_LEFT.rawValue)) }
    numbers[kind] = format
    return format
  }
}

/// A sheet of a workbook, written from above to below.
private struct Sheet {
  private let sheet: UnsafeMutablePointer<lxw_worksheet>

  init(_ sheet: UnsafeMutablePointer<lxw_worksheet>) {
    self.sheet = sheet
  }

  /// A text, as text also where it looks like a formula.
  func put(
    _ text: String, _ row: UInt32, _ column: Int, _ format: UnsafeMutablePointer<lxw_format>?
  ) throws {
    // A cell holds 32,767 characters.
    let text = printable(text, keeping: "\n").prefix(16_000)
    guard !text.isEmpty else { return }
    try BillWorkbook.check(worksheet_write_string(sheet, row, UInt16(column), String(text), format))
  }

  /// A cell of the data.
  func put(
    _ cell: ReportCell, _ row: UInt32, _ column: Int, _ formats: inout WorkbookFormats, isLeft: Bool = false,
    text format: UnsafeMutablePointer<lxw_format>? = nil
  ) throws {
    switch cell {
    case .integer(let number):
      try put(Double(exactly: number), String(number), row, column, formats.number(0, isLeft: isLeft))
    case .number(let number):
      try put(
        number.double, number.description, row, column, formats.number(number.fractionDigits, isLeft: isLeft))
    case .time(let time):
      let day = time.date
      let second = time.secondOfDay
      var moment = lxw_datetime(
        year: Int32(day.year), month: Int32(day.month), day: Int32(day.day), hour: Int32(second / 3600),
        min: Int32(second / 60 % 60), sec: Double(second % 60))
      try BillWorkbook.check(
        worksheet_write_datetime(sheet, row, UInt16(column), &moment, formats.time))
    case .text(let text): try put(text, row, column, format)
    case .absent, .unlimited, .identifier, .decimal, .percentage, .boolean, .hidden: break
    }
  }

  /// A number; its digits as text where the cell would show others.
  private func put(
    _ number: Double?, _ digits: String, _ row: UInt32, _ column: Int,
    _ format: UnsafeMutablePointer<lxw_format>?
  ) throws {
    guard let number else { return try put(digits, row, column, nil) }
    try BillWorkbook.check(worksheet_write_number(sheet, row, UInt16(column), number, format))
  }

  /// A picture in the corner above, with a text for who does not see it; the row below it. The file holds it as it is. The
  /// rows behind it keep their usual height: of another one the library knows nothing when it places the picture.
  func picture(_ logo: Bill.Logo, _ text: String) throws -> UInt32 {
    let size = logo.size(within: (width: 260, height: 76))
    try text.withCString { text in
      var options = lxw_image_options()
      (options.x_offset, options.y_offset) = (2, 2)
      (options.x_scale, options.y_scale) = (
        size.width / Double(logo.width), size.height / Double(logo.height)
      )
      options.description = UnsafeMutablePointer(mutating: text)
      try BillWorkbook.check(
        worksheet_insert_image_buffer_opt(sheet, 0, 0, logo.bytes, logo.bytes.count, &options))
    }
    // A row has 20 pixels; where a program makes empty ones lower, one more keeps the picture off the title.
    return UInt32(((size.height + 4) / 20).rounded(.up)) + 1
  }

  /// Sets a column's width in letters.
  func width(of column: Int, _ letters: Double) throws {
    try BillWorkbook.check(worksheet_set_column(sheet, UInt16(column), UInt16(column), letters, nil))
  }

  /// Lets the first rows stay in sight and be printed on each page, and lets the rows be filtered.
  func head(rows: UInt32, columns: Int, last: UInt32) throws {
    worksheet_freeze_panes(sheet, rows, 0)
    try BillWorkbook.check(worksheet_repeat_rows(sheet, 0, rows - 1))
    guard last >= rows else { return }
    try BillWorkbook.check(worksheet_autofilter(sheet, 0, 0, last, UInt16(columns - 1)))
  }

  /// A4, as many pages high as it needs and one wide.
  func paper(isLandscape: Bool) {
    worksheet_set_paper(sheet, 9)
    if isLandscape { worksheet_set_landscape(sheet) }
    worksheet_fit_to_pages(sheet, 1, 0)
  }
}
