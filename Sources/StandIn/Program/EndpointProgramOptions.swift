import CommandLineTool
import Support

/// The options of `model-endpoint`, and the configuration they make.
enum EndpointProgramOptions {
  static let host = Option<String>(
    "host", .string, default: "127.0.0.1", help: "The numeric IPv4 address to listen on.")
  static let port = Option<Int>(
    "port", short: "p", .int(in: 0...65535), default: 8080, help: "The port; 0 lets the system choose.")
  static let threads = Option<Int>(
    "threads", .int(in: 1...64), default: 1, help: "Threads that serve connections.")
  static let delay = Option<Duration>(
    "delay", milliseconds, default: .zero, help: "Time from the end of an upload to its answer.")
  static let dialect = Option<EndpointConfiguration.Dialect>(
    "dialect", .choice(EndpointConfiguration.Dialect.self), default: .server,
    help: "The variant of the API: as the real server does, or as its guide says.")
  static let tokenLifetime = Option<Duration>(
    "token-lifetime", .duration, default: .seconds(3600), help: "Life of an access token.")
  static let refreshLifetime = Option<Duration>(
    "refresh-lifetime", .duration, default: .seconds(7 * 86400), help: "Life of a refresh token.")
  static let requireAuth = Flag("require-auth", help: "Refuse uploads without a token.")
  static let limit = Option<Int?>(
    "limit-per-user", .int(in: 0...Int(Int32.max)), help: "Analyses a month for each free account.")
  static let account = Option<[String]>(
    repeating: "account", .string, valueName: "EMAIL:PASSWORDFILE", help: "An account that exists.")
  static let accounts = Option<String?>(
    "accounts", .path, help: "A JSON list of accounts: email, password, name, subscription.")
  static let fail = Option<[FaultRule]>(
    repeating: "fail", rule, help: "A failure and the share of the uploads it strikes, up to which try.")
  static let faults = Option<String?>(
    "faults", .path, help: "A JSON file of failures: {\"seed\": 7, \"faults\": {\"503\": 0.05}}.")
  static let seed = Option<Int?>("seed", .int, help: "The number that decides which uploads fail; else 1.")
  static let retryAfter = Option<Int>(
    "retry-after", .int(in: 0...86400), default: 1, help: "Seconds in a Retry-After header.")
  static let drip = Option<Duration>(
    "drip", milliseconds, default: .milliseconds(200), help: "Pause between pieces of a slow body.")
  static let hang = Option<Duration>(
    "hang", .duration, default: .seconds(600), help: "How long a timeout is held before it is cut.")
  static let log = Option<String?>("log", .path, help: "A file that gets a JSON line for each upload.")
  static let certificate = Option<String?>("tls-cert", .path, help: "A PEM certificate; serves TLS.")
  static let key = Option<String?>("tls-key", .path, help: "The PEM key of the certificate.")
  static let decode = Flag(
    "decode", inverted: true, default: true,
    help: "Compute results from the pixels; --no-decode draws them from the image's digest.")

  static let all: [any Input] = [
    host, port, threads, delay, dialect, tokenLifetime, refreshLifetime, requireAuth, limit, account,
    accounts, fail, faults, seed, retryAfter, drip, hang, log, certificate, key, decode,
  ]

  /// A length of time; a bare number is milliseconds.
  private static let milliseconds = ValueFormat<Duration>(
    name: "DURATION",
    parse: { (text: String) throws(ValueError) -> Duration in
      if let number = Int32(text), number >= 0 { return .milliseconds(number) }
      return try ValueFormat.duration.parse(text)
    }, text: ValueFormat.duration.text)

  private static let rule = ValueFormat<FaultRule>(
    name: "CLASS=SHARE[@TRY]", completion: .words(FaultClass.allCases.map { "\($0.rawValue)=" }),
    parse: { (text: String) throws(ValueError) -> FaultRule in
      do throws(EndpointError) {
        return try FaultRule(parsing: text)
      } catch {
        throw ValueError("is refused: \(error.description)")
      }
    }, text: { "\($0.fault.rawValue)=\($0.share)" })

  static func configuration(_ context: Context) throws -> EndpointConfiguration {
    let values = context.values
    var configuration = EndpointConfiguration()
    configuration.host = try values[host]
    configuration.port = UInt16(try values[port])
    configuration.threads = try values[threads]
    configuration.delay = try values[delay]
    configuration.dialect = try values[dialect]
    configuration.tokenLifetime = try values[tokenLifetime]
    configuration.refreshLifetime = try values[refreshLifetime]
    configuration.requiresToken = try values[requireAuth]
    configuration.limitPerUser = try values[limit]
    configuration.accounts = try readAccounts(context)
    configuration.faults = try readFaults(values)
    configuration.retryAfter = try values[retryAfter]
    configuration.dripInterval = try values[drip]
    configuration.hangLimit = try values[hang]
    configuration.logPath = try values[log]
    configuration.decodesPictures = try values[decode]
    switch (try values[certificate], try values[key]) {
    case (let certificate?, let key?):
      configuration.transportSecurity = .init(
        certificate: try TextFile.read(certificate), key: try SecretFile.read(key).reveal())
    case (nil, nil): break
    default: throw CommandFailure(.usage, "--tls-cert and --tls-key go together", advice: "Give both.")
    }
    guard configuration.isLoopback || configuration.requiresToken && !configuration.accounts.isEmpty else {
      throw CommandFailure(
        .usage, "\(configuration.host) lets other machines in, and anybody could upload",
        advice: "Give --require-auth and an account (--account or --accounts), or listen on 127.0.0.1.")
    }
    return configuration
  }

  private static func readAccounts(_ context: Context) throws -> [NewAccount] {
    var known: [NewAccount] = []
    if let path = try context.values[accounts] {
      let secret = try SecretFile.read(path, environment: context.environment)
      known = try NewAccount.list(parsing: secret.reveal())
    }
    for text in try context.values[account] {
      let parts = text.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else {
        throw CommandFailure(
          .usage, "an --account is not of the form EMAIL:PASSWORDFILE",
          advice: "Put the password into a file and name the file after the colon.")
      }
      let secret = try SecretFile.read(String(parts[1]), environment: context.environment)
      known.append(NewAccount(email: String(parts[0]), password: secret.reveal()))
    }
    return known
  }

  private static func readFaults(_ values: Values) throws -> FaultPlan {
    let file = try values[faults].map { try FaultFile(parsing: try TextFile.read($0)) }
    let number = try values[seed].map { UInt64(bitPattern: Int64($0)) } ?? file?.seed ?? 1
    return try FaultPlan(seed: number, rules: (file?.rules ?? []) + values[fail])
  }
}
