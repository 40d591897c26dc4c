import Support

/// The help of one command: what it does, examples, usage, inputs, subcommands, exit codes. The options of every command
/// of a program have a page of their own.
struct HelpPage {
  private let commands: [Command]
  private let width: Int
  private let paint: Paint
  private static let widestEntry = 30
  private static let narrowestHelp = 24

  init(root: Command, path: [String], width: Int, paint: Paint) {
    var commands = [root]
    for name in path.dropFirst() {
      guard let next = commands.last?.subcommands.first(where: { $0.name == name }) else { break }
      commands.append(next)
    }
    self.commands = commands
    // Lines longer than 100 columns are hard to read, however wide the terminal is.
    self.width = min(max(width, 40), 100)
    self.paint = paint
  }

  private var command: Command { commands[commands.count - 1] }
  private var name: String { commands.map(\.name).joined(separator: " ") }

  var text: String {
    let isGroup = !command.subcommands.isEmpty
    // A group's own text comes first, and a command's examples.
    let beginning = isGroup ? [discussion, examples, usage] : [examples, usage, discussion]
    let arguments = list("Arguments", command.arguments.map { ($0.synopsis, $0.fullHelp) })
    let options = list(
      "Options", entries(isGroup && commands.count == 1 ? [] : command.options) + builtInOptions)
    let ofGroups = commands.dropFirst().dropLast().map {
      list("Options of every subcommand of '\($0.name)'", entries($0.options))
    }
    let exitCodes = list("Exit codes", command.exitCodes.map { (String($0.code), $0.sentence) })
    return page(
      [wrapped("\(name): \(command.abstract)", to: width)] + beginning + [arguments] + subcommands + [options]
        + ofGroups + [optionsOfEveryCommand, exitCodes])
  }

  /// The subcommands alone, a line or two each.
  var overview: String {
    page(subcommands + [wrapped("Run '\(name) help COMMAND' for the help of one.", to: width)])
  }

  /// The options of every command of the program.
  var options: String {
    page([
      wrapped("\(commands[0].name): Options of every command.", to: width),
      list("Options", entries(commands[0].options)),
    ])
  }

  private func page(_ sections: [[String]]) -> String {
    sections.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") }.joined(separator: "\n\n") + "\n"
  }

  private var optionsOfEveryCommand: [String] {
    let options = commands[0].options.filter { !$0.isHidden }.map(\.spelling)
    guard !commands[0].subcommands.isEmpty, let last = options.last else { return [] }
    let names = options.count == 1 ? last : options.dropLast().joined(separator: ", ") + " and " + last
    return wrapped("Every command takes \(names), too: see '\(commands[0].name) help options'.", to: width)
  }

  private var subcommands: [[String]] {
    let entries = { (commands: [Command]) in commands.filter { !$0.isHidden }.map { ($0.name, $0.abstract) } }
    guard !command.subjects.isEmpty else {
      return [list("Subcommands", entries(command.subcommands) + builtInSubcommands)]
    }
    let widest = (command.subcommands.map(\.name) + builtInSubcommands.map(\.0)).map(displayWidth).max() ?? 0
    return command.subjects.map { list($0.title, entries($0.commands), widest: widest) }
      + [list("Help", builtInSubcommands, widest: widest)]
  }

  private var examples: [String] {
    guard !command.examples.isEmpty else { return [] }
    return [paint.bold("Examples:")]
      + command.examples.flatMap { example in
        ["  \(example.command)"]
          + wrapped(example.explanation, to: width - 6).map { paint.dim("      \($0)") }
      }
  }

  private var usage: [String] {
    let isLeaf = command.subcommands.isEmpty
    let inner =
      isLeaf ? command.arguments.map(\.usage) : [command.run == nil ? "<subcommand>" : "[<subcommand>]"]
    return [paint.bold("Usage:"), "  " + ([name, "[options]"] + inner).joined(separator: " ")]
  }

  private var discussion: [String] {
    paragraphs(command.discussion).map { wrapped($0, to: width) }.filter { !$0.isEmpty }
      .joined(separator: [""]).map { $0 }
  }

  private var builtInSubcommands: [(String, String)] {
    guard !command.subcommands.isEmpty else { return [] }
    let help = ("help", "Show the help of a command, or with 'options' the options of every command.")
    return commands.count > 1
      ? [] : [("completions", "Print a completion script for bash, zsh or fish."), help]
  }

  private var builtInOptions: [(String, String)] {
    let hasOwnShort = commands.flatMap(\.options).contains { $0.short == "h" }
    let help = (hasOwnShort ? "    --help" : "-h, --help", "Show this help.")
    return commands.count > 1 ? [help] : [help, ("    --version", "Show the version.")]
  }

  private func entries(_ options: [InputDefinition]) -> [(String, String)] {
    options.filter { !$0.isHidden }.map { ($0.synopsis, $0.fullHelp) }
  }

  private func list(_ title: String, _ entries: [(String, String)], widest: Int = 0) -> [String] {
    guard !entries.isEmpty else { return [] }
    let widest = max(widest, entries.map { displayWidth($0.0) }.max() ?? 0)
    let column = min(widest, Self.widestEntry, width - Self.narrowestHelp - 4)
    var lines = [paint.bold("\(title):")]
    for (entry, help) in entries {
      let wrappedHelp = wrapped(help, to: width - column - 4)
      let indent = String(repeating: " ", count: column + 4)
      if displayWidth(entry) > column {
        lines.append("  \(entry)")
        lines += wrappedHelp.map { indent + $0 }
      } else {
        let space = String(repeating: " ", count: column - displayWidth(entry) + 2)
        lines.append("  \(entry)\(space)\(wrappedHelp.first ?? "")")
        lines += wrappedHelp.dropFirst().map { indent + $0 }
      }
    }
    return lines
  }
}

/// The paragraphs of a text, which are separated by empty lines.
func paragraphs(_ text: String) -> [String] {
  var found: [[Substring]] = [[]]
  for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
    if line.allSatisfy({ $0 == " " }) {
      found.append([])
    } else {
      found[found.count - 1].append(line)
    }
  }
  return found.filter { !$0.isEmpty }.map { $0.joined(separator: " ") }
}

extension InputDefinition {
  /// How it is typed: `-c, --concurrency <N>`, `--[no-]progress`, `<file>…`.
  var synopsis: String {
    switch role {
    case .argument: isRepeating ? "<\(name)>..." : "<\(name)>"
    case .flag: (short.map { "-\($0), " } ?? "    ") + (isInverted ? "--[no-]\(name)" : "--\(name)")
    case .option:
      (short.map { "-\($0), " } ?? "    ") + "--\(name) <\(valueName)>"
    }
  }

  /// What it does, and where its value comes from when it is not typed.
  var fullHelp: String {
    let facts = sources
    return facts.isEmpty ? help : "\(help) (\(facts.joined(separator: "; ")))"
  }

  private var sources: [String] {
    var facts: [String] = []
    if isRequired, role == .option { facts.append("required") }
    if let standard { facts.append("default: \(standard)") }
    if isRepeating, role == .option { facts.append("may be repeated") }
    if let environment { facts.append("environment: \(environment)") }
    if let key { facts.append("configuration: \(key)") }
    return facts
  }

  /// As part of the usage line.
  var usage: String {
    let plain = isRepeating ? "<\(name)>..." : "<\(name)>"
    return isRequired ? plain : "[\(plain)]"
  }
}

/// Breaks a text into lines of at most `width` columns, at spaces; a longer word gets a line of its own.
func wrapped(_ text: String, to width: Int) -> [String] {
  var lines: [String] = []
  var line = ""
  for word in text.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
    if line.isEmpty {
      line = String(word)
    } else if displayWidth(line) + 1 + displayWidth(String(word)) <= width {
      line += " \(word)"
    } else {
      lines.append(line)
      line = String(word)
    }
  }
  return line.isEmpty ? lines : lines + [line]
}
