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
