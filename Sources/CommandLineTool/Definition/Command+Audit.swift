extension Command {
  /// What is contradictory in this definition and those below it; empty when all is well. For tests.
  public var definitionFaults: [String] { faults(above: [], path: name) }

  private func faults(above: [InputDefinition], path: String) -> [String] {
    let inScope = above + options
    var found: [String] = []
    for repeated in Self.repeated(inScope.map(\.name)) {
      found.append("\(path): --\(repeated) is defined twice")
    }
    for repeated in Self.repeated(inScope.compactMap(\.short).map(String.init)) {
      found.append("\(path): -\(repeated) is defined twice")
    }
    for repeated in Self.repeated(subcommands.map(\.name)) {
      found.append("\(path): \(repeated) is defined twice")
    }
    for option in options where ["help", "version", "man"].contains(option.name) {
      found.append("\(path): --\(option.name) is built in")
    }
    if !arguments.isEmpty, !subcommands.isEmpty {
      found.append("\(path): has both arguments and subcommands")
    }
    if arguments.dropLast().contains(where: { $0.isRepeating }) {
      found.append("\(path): an argument stands after a repeated one")
    }
    if zip(arguments, arguments.dropFirst()).contains(where: { !$0.isRequired && $1.isRequired }) {
      found.append("\(path): a required argument stands after an optional one")
    }
    if run == nil, subcommands.isEmpty { found.append("\(path): has nothing to run") }
    for option in options where option.isRequired && option.standard != nil {
      found.append("\(path): --\(option.name) is required and has a default")
    }
    return found + subcommands.flatMap { $0.faults(above: inScope, path: "\(path) \($0.name)") }
  }

  private static func repeated(_ names: [String]) -> [String] {
    Dictionary(grouping: names) { $0 }.filter { $0.value.count > 1 }.keys.sorted()
  }
}
