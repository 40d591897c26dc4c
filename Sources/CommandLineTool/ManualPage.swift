/// The manual page of a command and of those below it, in roff. It carries no date, so that the same program always
/// prints the same page.
struct ManualPage {
  private let commands: [Command]
  private let version: String

  init(root: Command, path: [String], version: String) {
    var commands = [root]
    for name in path.dropFirst() {
      guard let next = commands.last?.subcommands.first(where: { $0.name == name }) else { break }
      commands.append(next)
    }
    self.commands = commands
    self.version = version
  }

  private var command: Command { commands[commands.count - 1] }
  private var path: [String] { commands.map(\.name) }
  /// What the page is called: `analysisctl-jobs-list`.
  private var name: String { path.joined(separator: "-") }
  private var options: [InputDefinition] { commands.dropLast().flatMap(visible) }

  var text: String {
    var lines = [
      ".TH \"\(escaped(name.uppercased()))\" 1 \"\" \"\(escaped("\(path[0]) \(version)"))\" \"\""
    ]
    lines += [".SH NAME", "\(escaped(name)) \\- \(escaped(command.abstract))"]
    lines += [".SH SYNOPSIS"] + synopsis(command, path: path)
    lines += examples(command)
    if !command.discussion.isEmpty { lines += [".SH DESCRIPTION"] + prose(command.discussion) }
    lines += entries(".SH ARGUMENTS", command.arguments) + entries(".SH OPTIONS", visible(command))
    lines += entries(".SH OPTIONS OF EVERY SUBCOMMAND", options)
    if !command.visibleSubcommands.isEmpty {
      lines.append(".SH COMMANDS")
      for child in command.visibleSubcommands { lines += section(child, path: path + [child.name]) }
    }
    lines += environment + exitStatus + seeAlso
    return lines.joined(separator: "\n") + "\n"
  }

  private func section(_ command: Command, path: [String]) -> [String] {
    var lines = [".SS \"\(escaped(path.joined(separator: " ")))\"", escapedLine(command.abstract)]
    lines += [".PP"] + synopsis(command, path: path)
    for example in command.examples { lines += shown(example) }
    if !command.discussion.isEmpty { lines += [".PP"] + prose(command.discussion) }
    lines += entries(nil, command.arguments + visible(command))
    for child in command.visibleSubcommands { lines += section(child, path: path + [child.name]) }
    return lines
  }

  private func synopsis(_ command: Command, path: [String]) -> [String] {
    let inner = command.subcommands.isEmpty ? command.arguments.map(\.usage) : ["<subcommand>"]
    let rest = (["[options]"] + inner).joined(separator: " ")
    return ["\\fB\(escaped(path.joined(separator: " ")))\\fR \(escaped(rest))"]
  }

  private func examples(_ command: Command) -> [String] {
    command.examples.isEmpty ? [] : [".SH EXAMPLES"] + command.examples.flatMap(shown)
  }

  private func shown(_ example: Example) -> [String] {
    [
      ".PP", escapedLine(example.explanation), ".PP", ".nf", ".RS 4", escapedLine(example.command), ".RE",
      ".fi",
    ]
  }

  private func visible(_ command: Command) -> [InputDefinition] {
    command.options.filter { !$0.isHidden }
  }

  private func entries(_ heading: String?, _ inputs: [InputDefinition]) -> [String] {
    guard !inputs.isEmpty else { return [] }
    let synopsis = { (input: InputDefinition) in String(input.synopsis.drop { $0 == " " }) }
    return (heading.map { [$0] } ?? [])
      + inputs.flatMap { [".TP", "\\fB\(escaped(synopsis($0)))\\fR", escapedLine($0.fullHelp)] }
  }

  private var environment: [String] {
    let named = (options + allOptions(command)).filter { $0.environment != nil && !$0.isHidden }
    guard !named.isEmpty else { return [] }
    var seen: Set<String> = []
    return [".SH ENVIRONMENT"]
      + named.flatMap { option -> [String] in
        guard let name = option.environment, seen.insert(name).inserted else { return [] }
        return [".TP", "\\fB\(escaped(name))\\fR", escapedLine("The same as \(option.spelling).")]
      }
  }

  private var exitStatus: [String] {
    let named = Set(allCommands(command).flatMap(\.exitCodes))
    guard !named.isEmpty else { return [] }
    // One page says when each command ends with a code: that of the program, which has all commands.
    let hasCases = commands.count == 1 && !command.subcommands.isEmpty
    return [".SH EXIT STATUS"]
      + ExitCode.allCases.filter(named.contains).flatMap { code in
        [".TP", "\\fB\(code.code)\\fR", escapedLine(code.sentence)]
          + (hasCases && !code.cases.isEmpty ? [escapedLine(code.cases)] : [])
      }
  }

  /// The pages of the command above and of those directly below.
  private var seeAlso: [String] {
    let above = commands.count > 1 ? [path.dropLast().joined(separator: "-")] : []
    let pages = above + command.visibleSubcommands.map { "\(name)-\($0.name)" }
    guard !pages.isEmpty else { return [] }
    return [".SH SEE ALSO", pages.map { "\\fB\(escaped($0))\\fR(1)" }.joined(separator: ",\n")]
  }

  private func allCommands(_ command: Command) -> [Command] {
    [command] + command.visibleSubcommands.flatMap(allCommands)
  }

  private func allOptions(_ command: Command) -> [InputDefinition] {
    allCommands(command).flatMap(\.options)
  }

  private func prose(_ text: String) -> [String] {
    Array(paragraphs(text).map { [escapedLine($0)] }.joined(separator: [".PP"]))
  }

  /// A backslash starts a command of roff, and a plain "-" may be set as a hyphen that cannot be pasted.
  private func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "\\": result += "\\e"
      case "-": result += "\\-"
      case "\"": result += "\\(dq"
      case "\n": result += " "
      default: result.append(character)
      }
    }
    return result
  }

  /// A line that starts with "." or "'" would be taken for a command.
  private func escapedLine(_ text: String) -> String {
    let line = escaped(text)
    return line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
  }
}
