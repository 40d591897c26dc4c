import Administration
import CommandLineTool
import Formatting

/// `analysisctl audit verify`.
enum AuditVerifyCommand {
  static let expect = Option<AuditMark?>(
    "expect", .auditMark,
    help: "An end that was printed before and kept elsewhere; it has to be an entry still.")
  static let limit = Option(
    "limit", .int(in: 1...10_000), default: 20, help: "How many faults are named at most.")

  static let command = ControlCommand(
    "verify", abstract: "Verify that no entry was changed, removed or put in.",
    discussion: """
      Every entry holds the hash of the one before it. What does not fit is named, the oldest first, and the exit \
      code is 1. The end of the chain is printed: keep it where nobody who can write the database can write. \
      Somebody who may do everything there could write the whole chain anew, and only an end that was kept \
      elsewhere, given with --expect, shows that. What writes the audit is compared too: the functions and triggers of \
      the schema have to be this program's. Entries that were committed a moment ago and are not chained yet are \
      counted.
      """,
    examples: [
      Example("analysisctl audit verify", "Look at everything, and print the end."),
      Example("analysisctl audit verify --json", "For a program."),
    ],
    inputs: [expect, limit],
    exitCodes: [.done, .jobFailed, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let (expected, limit) = (try context[expect], try context[limit])
    return try await context.withSession { session in
      let verdict = try await AuditLog(session.database).verify(expecting: expected, limit: limit)
      try session.view.show(verdict)
      return verdict.faults.isEmpty ? .done : .jobFailed
    }
  }
}

extension ValueFormat where Value == AuditMark {
  /// `12:9f86…`: an entry's number and its hash.
  static var auditMark: Self {
    ValueFormat(
      name: "ID:HASH",
      parse: { (given: String) throws(ValueError) -> AuditMark in
        guard let mark = AuditMark(given) else {
          throw ValueError(
            "is not an end of the audit; give it as verify printed it, a number, a colon and 64 digits")
        }
        return mark
      },
      text: { $0.description })
  }
}

extension AuditVerdict: Presentable {
  var json: JSONValue {
    [
      "whole": .bool(faults.isEmpty), "entries": .integer(count),
      "first": .integer(first),
      "end": .text(end?.description), "pending": .count(pending),
      "faults": .array(
        faults.map { ["entry": .count($0.id), "fault": .string($0.message)] }),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let end = self.end.map { "\($0)\n" } ?? ""
    let pending = self.pending > 0 ? ", and \(self.pending) not chained yet" : ""
    guard !faults.isEmpty else {
      return
        "\(paint.green("The audit is whole")): \(count) entries from \(first) on\(pending). "
        + "Its end:\n" + end
    }
    let lines = faults.map { fault in
      (fault.id.map { "entry \($0): " } ?? "") + printable(fault.message) + "\n"
    }
    return "\(paint.red("The audit is not whole")):\n" + lines.joined() + "Its end, as it says:\n" + end
  }
}
