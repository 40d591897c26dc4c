import Glibc
import Support

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
