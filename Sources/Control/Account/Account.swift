import CommandLineTool
import Endpoint
import Support

enum AccountCommand {
  static let user = Option<String?>(
    "user", .string,
    help:
      "The user here whose account it is: name, e-mail address and the endpoint's count are taken over."
  )

  /// Who a person is at the endpoint; the same words for every command that sets it.
  static let name = Option<String?>("name", .string, help: "The account holder's name.")

  static let credentials = """
    The account is that of --credentials, a file of mode 0600 with email and password; neither stands on the command \
    line or in a message.
    """

  static let command = ControlCommand(
    "account", abstract: "Look after an account at the endpoint, and keep a user in step with it.",
    discussion: """
      \(credentials)

      A command that names no --user asks the endpoint alone, and needs no database.
      """,
    examples: [
      Example(
        "analysisctl account login --endpoint https://m.org --credentials account",
        "See whose account it is."),
      Example(
        "analysisctl account sync --user u1 --worker-config worker.conf --dry-run",
        "See what differs between a user here and the account there."),
    ],
    subcommands: [
      AccountLoginCommand.command, AccountRegisterCommand.command, AccountProfileCommand.command,
      AccountSubscribeCommand.command, AccountSyncCommand.command, AccountHistoryCommand.command,
      AccountSaveCommand.command, AccountDeleteCommand.command,
    ])
}

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

enum AccountHistoryCommand {
  static let command = ControlCommand(
    "history", abstract: "List the analyses that the endpoint keeps with the account.",
    discussion: """
      \(AccountCommand.credentials)

      What is listed is the account's own, and needs no role: whoever has its password may see it. The database is not \
      asked. Some endpoints answer the latest 20 only.
      """,
    examples: [
      Example("analysisctl account history --worker-config worker.conf", "What is kept there."),
      Example(
        "analysisctl account history --worker-config worker.conf --json",
        "With every condition, for a program."),
    ],
    inputs: EndpointOptions.all,
    exitCodes: [.done, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    try await context.withAccount { access in
      try access.session.view.show(try await access.client.history())
      return .done
    }
  }
}

extension AnalysisHistory: Presentable {
  private static let columns: [ListColumn<SavedAnalysis>] = [
    .init("ANALYSIS", wraps: true) { Cell($0.id) }.json("analysis") { .string($0.id) },
    .init("TYPE") { Cell($0.kind.rawValue) }.json("type") { .string($0.kind.rawValue) },
    .init("SAVED") { Cell($0.createdAt.map { Moment.short($0) } ?? "") }
      .json("saved_at") { .time($0.createdAt) },
    .init("CONDITION", shrinks: true) { Cell($0.conditions.first?.name ?? "none") }
      .json("conditions") { analysis in
        .array(
          analysis.conditions.map { condition in
            [
              "id": .string(condition.id), "name": .string(condition.name),
              "confidence": .number(condition.confidence.value),
              "band": .string(condition.confidence.band.rawValue), "normal": .bool(condition.isNormal),
            ]
          })
      },
    .init("CONFIDENCE", alignment: .right) { Cell($0.conditions.first?.confidence.percentageText ?? "") },
    .init("BAND") { analysis in
      let found = analysis.conditions.first
      let mark = found.flatMap { ConditionMark($0.confidence.band, isNormal: $0.isNormal) }
      return Cell(mark?.rawValue ?? "", mark?.colour)
    },
  ]

  var json: JSONValue {
    [
      "analyses": analyses.json(Self.columns), "analysis_limit": .count(subscription?.analysisLimit),
      "analysis_count": .count(subscription?.analysisCount),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !analyses.isEmpty else { return "No analyses.\n" }
    return analyses.table(Self.columns).render(width: width, paint: paint)
  }
}
