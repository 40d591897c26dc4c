@testable import CommandLineTool

/// The command line that the tests of this target parse and print.
enum Sample {
  enum Plan: String, CaseIterable, Sendable {
    case free
    case premium
  }

  static let verbose = Flag("verbose", short: "v", help: "Say more.")
  static let progress = Flag(
    "progress", inverted: true, default: true, environment: "SHOP_PROGRESS", key: "progress",
    help: "Show a progress bar.")
  static let config = Option<String?>(
    "config", .path, environment: "SHOP_CONFIG", help: "Configuration file.")
  static let window = Option(
    "window", short: "w", .int(in: 1...4096), default: 64, environment: "SHOP_WINDOW", key: "window",
    help: "How many calls may be in flight.")
  static let user = Option(
    required: "user", short: "u", .string, environment: "SHOP_USER", help: "Whose jobs.")
  static let plans = Option(
    repeating: "plan", .choice(Plan.self), environment: "SHOP_PLANS", key: "plans", help: "Only these plans.")
  static let offset = Option("offset", .int, default: 0, help: "Where to start; may be negative.")
  static let secretive = Flag("trace", help: "For developers.", hidden: true)
  static let files = Argument(repeating: "file", .path, minimum: 1, help: "Images to submit.")
  static let id = Argument("id", .int(in: 1...Int.max), help: "The job's number.")
  static let month = Argument(optional: "month", .month, help: "The month.")

  static let list = Command(
    "list", abstract: "List jobs.",
    examples: [Example("shop jobs list --user u1", "The jobs of one user.")],
    inputs: [user, plans, offset], exitCodes: [.done, .nothingToDo], run: { _ in .done })
  static let show = Command("show", abstract: "Show one job.", inputs: [id], run: { _ in .done })
  static let jobs = Command("jobs", abstract: "Look after jobs.", subcommands: [list, show])
  static let submit = Command(
    "submit", abstract: "Submit images.", inputs: [window, secretive, files], run: { _ in .jobFailed })
  static let report = Command("report", abstract: "Print a report.", inputs: [month], run: { _ in .done })
  static let hidden = Command("rehearse", abstract: "For developers.", hidden: true, run: { _ in .done })

  static let root = Command(
    "shop", abstract: "Submit images and look after their jobs.",
    discussion: "The database is found by the usual PG* variables.\n\nSecrets come from files.",
    examples: [Example("shop submit --window 8 photo.jpg", "One image, eight calls at once.")],
    inputs: [verbose, progress, config],
    subjects: [
      .init("Work", [submit, jobs]), .init("Accounts", [report, hidden]),
    ],
    exitCodes: [.done, .jobFailed, .usage])
  static let tool = Tool(root, version: "1.2.3")

  /// The values that a command line gives; fails the test where it asks for a page.
  static func values(
    _ line: String, environment: [String: String] = [:], configuration: ConfigurationValues = .none
  ) throws -> Values {
    let request = try tool.parse(
      line.split(separator: " ").map(String.init), environment: environment, configuration: configuration)
    guard case .run(let values) = request else { throw NotARun() }
    return values
  }

  /// The error that a command line ends in.
  static func problem(_ line: String, environment: [String: String] = [:]) -> UsageError? {
    do {
      _ = try tool.parse(line.split(separator: " ").map(String.init), environment: environment)
      return nil
    } catch {
      return error
    }
  }

  struct NotARun: Error {}
}
