import Glibc
import Support

/// `statement-printer`: draws one statement as PDF for the program that started it.
@main enum StatementPrinterProgram {
  private static let help = """
    Draws a statement as PDF for analysisctl, which starts it; input and output are not for people.
    statement-printer [--help]

    """

  static func main() {
    StandardDescriptors.open()
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.isEmpty else {
      let isAsked = arguments == ["--help"]
      end(help, to: isAsked ? STDOUT_FILENO : STDERR_FILENO, isAsked ? 0 : 64)
    }
    CoreDumps.forbid()
    // A statement of 100,000 lines takes 200 MB and 17 s.
    ResourceLimit.setMemory(2 << 30)
    ResourceLimit.set(RLIMIT_CPU, 300)
    guard let order = PrintOrder(input()) else {
      end("The input is no statement that this version knows.\n", to: STDERR_FILENO, PrintOrder.unreadable)
    }
    do throws(PrintingError) {
      end(try BillPrint(order.bill, sha256: order.sha256).pdf(), to: STDOUT_FILENO, 0)
    } catch {
      end("\(error.message)\n\(error.advice ?? "")\n", to: STDOUT_FILENO, PrintOrder.refused)
    }
  }

  /// All of the input.
  private static func input() -> [UInt8] {
    var bytes: [UInt8] = []
    let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 1)
    defer { chunk.deallocate() }
    while true {
      let count = read(STDIN_FILENO, chunk.baseAddress, chunk.count)
      if count == 0 || (count < 0 && errno != EINTR) { return bytes }
      bytes += chunk.prefix(max(count, 0))
    }
  }

  private static func end(_ text: String, to descriptor: Int32, _ code: Int32) -> Never {
    end(Array(text.utf8), to: descriptor, code)
  }

  /// Writes the bytes and ends with the code; with 74 when nobody reads them.
  private static func end(_ bytes: [UInt8], to descriptor: Int32, _ code: Int32) -> Never {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno != EINTR { exit(74) }
      rest = rest.dropFirst(max(count, 0))
    }
    exit(code)
  }
}
