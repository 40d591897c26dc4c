import Foundation
import Support

/// One call of a function.
struct StressCall: Sendable {
  let function: String
  let sql: String
  /// Whether one of its arguments is nothing that anybody means.
  let isOdd: Bool
  /// What it was given, by parameter, and whether its answer is what other functions ask for.
  let arguments: [String: String]
  var opensReading: Bool { function.contains("open_") }
}

/// Draws calls by lot: which function, and with which arguments.
struct StressDraw {
  let login: String
  let functions: [StressFunction]
  var facts = StressFacts()
  var generator: SeededGenerator
  /// What was opened and committed: the arguments, and the answer.
  private var readings: [(arguments: [String: String], answer: String)] = []
  private let secrets: [String: Int64]

  init(login: String, functions: [StressFunction], seed: UInt64) {
    self.login = login
    self.functions = functions.flatMap { Array(repeating: $0, count: StressValues.shares[$0.name] ?? 4) }
    generator = SeededGenerator(seed: seed)
    secrets = Dictionary(
      uniqueKeysWithValues: (0..<2).map { number in
        let secret = SHA256.digest(of: Array("\(login)-\(number)".utf8))
        let digest = SHA256.digest(of: secret + Array(login.utf8))
        let worker = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } & UInt64(Int64.max)
        return ("'\\x\(Hexadecimal.text(of: secret))'", Int64(worker))
      })
  }

  /// Takes note of what a call that was committed has answered.
  mutating func opened(_ call: StressCall, _ answer: String) {
    readings = readings.suffix(5) + [(call.arguments, answer)]
  }

  mutating func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &generator) < share }

  /// The next call; nil where there is no function.
  mutating func call() -> StressCall? {
    guard let function = functions.randomElement(using: &generator) else { return nil }
    var words = words()
    // Of none that was opened, unless there is one.
    words["reading"] = ["'x'"]
    var arguments: [String: String] = [:]
    if function.parameters.contains(where: { $0.name == "p_reading" || $0.name == "p_export" }),
      let reading = readings.randomElement(using: &generator)
    {
      arguments = reading.arguments
      let number = reading.answer.drop { !$0.isNumber }.prefix { $0.isNumber }
      if reading.answer.contains(","), !number.isEmpty { words["number"] = [String(number)] }
      let mark = reading.answer.firstMatch(of: /[0-9]+-[0-9]{10,}/).map { String($0.output) } ?? "x"
      words["reading"] = ["'\(mark)'"]
    }
    let count = [0, 1, 1, 2, 3, 5].randomElement(using: &generator) ?? 1
    let variant = Int.random(in: 0..<60, using: &generator)
    let odd = chance(0.12) ? function.parameters.randomElement(using: &generator)?.name : nil
    var isOdd = false
    var given: [String: String] = [:]
    for (place, parameter) in function.parameters.enumerated() {
      let isConfined = StressValues.confined[parameter.name] != nil
      if place >= function.parameters.count - function.defaults, !isConfined, chance(0.4) { continue }
      if parameter.name == odd, !isConfined {
        isOdd = true
        given[parameter.name] = oddValue(parameter.type)
      } else if let opened = arguments[parameter.name] {
        given[parameter.name] = opened
      } else {
        given[parameter.name] = value(function.name, parameter, words, count, variant)
      }
    }
    let list = function.parameters.compactMap { parameter in
      given[parameter.name].map { "\(parameter.name) => \($0)::\(parameter.type)" }
    }.joined(separator: ", ")
    let sql =
      function.isProcedure
      ? "CALL analysis.\(function.name)(\(list))"
      : "SELECT r::text FROM analysis.\(function.name)(\(list)) r LIMIT 20"
    return StressCall(function: function.name, sql: sql, isOdd: isOdd, arguments: given)
  }

  // MARK: Parts

  /// What the words in braces mean in one call, each with what is drawn from. All of it is of one user, or of their shard.
  private mutating func words() -> [String: [String]] {
    let user = facts["user"].randomElement(using: &generator)
    let shard = user?.shard ?? 0
    let owner = user?.owner ?? "nobody"
    let here = facts["job"].filter { $0.shard == shard }
    let own = here.filter { $0.owner == owner }
    let held = facts["lease"].filter { lease in
      lease.shard == shard && secrets.values.contains { "\($0)" == lease.owner }
    }
    let lease = held.randomElement(using: &generator)
    let holder = secrets.first { "\($0.value)" == lease?.owner }?.key
    let token = Hexadecimal.text(of: SHA256.digest(of: Array("token of \(owner)".utf8)))
    let (name, other) = (
      StressFacts.names.randomElement(using: &generator), StressFacts.names.randomElement(using: &generator)
    )
    var words: [String: [String]] = [:]
    func set(_ word: String, _ facts: [StressFacts.Fact]) { words[word] = facts.map { String($0.number) } }
    set("job", own.isEmpty || chance(0.2) ? here : own)
    set("lease", lease.map { [$0] } ?? [])
    for kind in ["batch", "webhook", "share"] { set(kind, facts[kind]) }
    for kind in ["dead", "event"] { set(kind, facts[kind].filter { $0.shard == shard }) }
    words["leased"] = held.filter { $0.number == lease?.number }.map { String($0.job) }
    words["user"] = ["'\(owner)'"]
    words["number"] = [String(user?.number ?? -1)]
    words["shard"] = [String(shard)]
    words["name"] = ["'\(name ?? "")'"]
    words["other"] = ["'\(other ?? "")'"]
    words["secret"] = holder.map { [$0] } ?? secrets.keys.sorted()
    words["token"] = ["'\\x\(token)'"]
    words["fresh"] = [String(Int64.random(in: 1_000_000..<(1 << 60), using: &generator))]
    words["clinic"] = StressFacts.clinics.map { "'\($0)'" }
    words["plan"] = StressFacts.plans.map { "'\($0)'" }
    words["month"] = [0, 0, 0, -1, -2, 1].map { String(facts.month + $0) }
    words["clinician"] = ["'stress_clinician'"]
    words["login"] = ["'stress_clinician'", "'stress_reporter'", "'stress_operator'", "'stress_auditor'"]
    words["key"] = (0..<20).map { "'key-\($0)'" }
    words["day"] = ["'2026-10-01'", "'2027-01-01'"]
    return words
  }

  private mutating func value(
    _ function: String, _ parameter: StressFunction.Parameter, _ words: [String: [String]], _ count: Int,
    _ variant: Int
  ) -> String {
    if let row = StressValues.rows[parameter.type] {
      return Self.row(row.map { value(function, $0, words, count, variant) })
    }
    let isList = parameter.type.hasSuffix("[]")
    let type = isList ? String(parameter.type.dropLast(2)) : parameter.type
    func one(_ place: Int) -> String {
      let fitting = StressValues.ofFunction["\(function).\(parameter.name)"]
      let values =
        StressValues.ofTyped["\(parameter.name) \(type)"] ?? StressValues.named[parameter.name]
        ?? StressValues.typed[type]
      let template =
        fitting.map { $0[variant % $0.count] } ?? values?.randomElement(using: &generator) ?? "NULL"
      // Of one place in all lists it is the same picture.
      let filled = fill(template.replacing("{picture}", with: "'\\xffd8ff0\((variant + place) % 4)'"), words)
      return Self.fits(filled, type) ? filled : "1"
    }
    guard isList else { return "(\(one(0)))" }
    return count == 0 ? "'{}'" : "ARRAY[\((0..<count).map { one($0) }.joined(separator: ", "))]"
  }

  /// Whether a number is one of its parameter's type: a lease's number is none for a count of leases of the same name.
  private static func fits(_ value: String, _ type: String) -> Bool {
    guard let number = Int64(value) else { return true }
    switch type {
    case "smallint": return Int16(exactly: number) != nil
    case "integer": return Int32(exactly: number) != nil
    default: return true
    }
  }

  private mutating func fill(_ template: String, _ words: [String: [String]]) -> String {
    guard let start = template.firstIndex(of: "{"), let end = template.firstIndex(of: "}"),
      let values = words[String(template[start...].dropFirst().prefix { $0 != "}" })]
    else { return template }
    let value = values.randomElement(using: &generator) ?? "NULL"
    return template.replacingCharacters(in: start...end, with: value)
  }

  private static func row(_ values: [String]) -> String { "(\(values.joined(separator: ", ")))" }

  private mutating func oddValue(_ type: String) -> String {
    if let row = StressValues.rows[type] {
      return Self.row(row.map { StressValues.confined[$0.name] == nil ? oddValue($0.type) : "NULL" })
    }
    guard type.hasSuffix("[]") else {
      return "(\(((StressValues.odd[type] ?? []) + ["NULL"]).randomElement(using: &generator) ?? "NULL"))"
    }
    let element = String(type.dropLast(2))
    let odd = StressValues.odd[element]?.randomElement(using: &generator) ?? "NULL"
    return ["NULL", "'{}'", "'{NULL}'", "array_fill(NULL::\(element), ARRAY[2, 2])", "ARRAY[\(odd)]"]
      .randomElement(using: &generator) ?? "NULL"
  }
}
