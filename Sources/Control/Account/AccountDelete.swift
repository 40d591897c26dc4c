import CommandLineTool
import Endpoint
import Support

/// `analysisctl account delete`.
enum AccountDeleteCommand {
  static let analyses = Argument(
    repeating: "analysis", .string, minimum: 1, help: "The endpoint's id of an analysis; see account history."
  )

  static let command = ControlCommand(
    "delete", abstract: "Delete analyses that the endpoint keeps with the account.",
    discussion: """
      \(AccountCommand.credentials)

      What is stored here stays. One that the endpoint does not know does not stop the others, and the exit code is 4.
      """,
    examples: [
      Example("analysisctl account delete saved-1 --worker-config worker.conf", "Ask, and delete."),
      Example(
        "analysisctl account delete saved-1 --yes --worker-config worker.conf",
        "From a script."),
    ],
    inputs: EndpointOptions.all + [Confirmation.yes, analyses],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let analyses = try context[analyses]
    if try !context[Confirmation.yes] { try Confirmation.requireTerminal(context) }
    return try await context.withAccount { access in
      try await Confirmation.require(
        "\(analyses.count) analyses go from the endpoint for good. Delete?", access.session)
      var lines: [AccountDeleteResponse.Line] = []
      for analysis in analyses {
        do throws(CallFailure) {
          try await access.client.delete(analysis: analysis)
          lines.append(.init(analysis: analysis, failure: nil))
        } catch {
          guard error.status == 404 || error.failureClass == .permanent else { throw error }
          lines.append(.init(analysis: analysis, failure: "\(error)"))
        }
      }
      let response = AccountDeleteResponse(lines: lines)
      try access.session.view.show(response)
      return response.exitCode
    }
  }
}

/// What became of each analysis.
struct AccountDeleteResponse: Sendable, Equatable, Presentable {
  struct Line: Sendable, Equatable {
    let analysis: String
    /// Why it was not deleted; nil where it was.
    let failure: String?
  }

  let lines: [Line]

  var exitCode: ExitCode { lines.contains { $0.failure != nil } ? .refused : .done }

  var json: JSONValue {
    [
      "analyses": .array(
        lines.map { line in
          [
            "analysis": .string(line.analysis),
            "outcome": .string(line.failure == nil ? "deleted" : "refused"),
            "message": .text(line.failure),
          ]
        })
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    lines.map { line in
      let name = printable(line.analysis)
      guard let failure = line.failure else { return "\(paint.green("deleted")) \(name)\n" }
      return "\(paint.red("refused")) \(name): \(printable(failure))\n"
    }.joined()
  }
}
