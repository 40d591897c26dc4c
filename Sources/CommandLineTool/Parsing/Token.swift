/// One word of the command line, before it is known what the command defines.
enum Token: Equatable {
  /// `--name` or `--name=value`.
  case long(name: String, value: String?)
  /// `-abc`, without the dash; also a negative number.
  case short(String)
  /// Anything else, and all that follows `--`.
  case bare(String)
  /// After `--`: never a subcommand.
  case literal(String)

  static func split(_ arguments: [String]) -> [Token] {
    guard let end = arguments.firstIndex(of: "--") else { return arguments.map(Token.init) }
    return arguments[..<end].map(Token.init) + arguments[(end + 1)...].map(Token.literal)
  }

  private init(_ word: String) {
    if word.hasPrefix("--") {
      let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      self = .long(name: String(parts[0]), value: parts.count > 1 ? String(parts[1]) : nil)
    } else if word.hasPrefix("-"), word != "-" {
      self = .short(String(word.dropFirst()))
    } else {
      self = .bare(word)
    }
  }

  /// The word, where it can stand as the value of the option before it.
  var asValue: String? {
    switch self {
    case .bare(let word): word
    case .short(let letters) where Token.isNumber(letters): "-" + letters
    case .long, .short, .literal: nil
    }
  }

  static func isNumber(_ letters: String) -> Bool {
    guard let first = letters.first else { return false }
    return ("0"..."9").contains(first) || (first == "." && Double(letters) != nil)
  }
}
