public import Foundation

/// What the benchmarks measured, as far as the costs of a job are in it: the file of `scripts/bench --json`.
public struct MeasuredResults: Sendable, Equatable, Decodable {
  struct Settings: Equatable, Decodable {
    let quick: Bool
  }

  struct Row: Equatable, Decodable {
    let name: String
    let contenders: [Contender]
    let failure: String?
  }

  struct Contender: Equatable, Decodable {
    let name: String
    let part: String
    let samples: [Run]
    let failure: String?
  }

  /// One run of a contender.
  struct Run: Equatable, Decodable {
    let amount: Double
    let workerSeconds: Double?
    let serverSeconds: Double?
    let further: [String: Double]

    private enum CodingKeys: String, CodingKey {
      case amount
      case workerSeconds = "worker_seconds"
      case serverSeconds = "server_seconds"
      case further
    }
  }

  private let settings: Settings
  private let rows: [Row]

  /// Whether the sizes were tiny, so that the figures mean nothing.
  public var isQuick: Bool { settings.quick }

  /// Reads the file's bytes.
  ///
  /// - Throws: ``CostsError`` when they are not what the benchmarks write.
  public init(_ data: Data) throws {
    do {
      self = try JSONDecoder().decode(MeasuredResults.self, from: data)
    } catch {
      throw CostsError(
        message: "This is not a file of results of the benchmarks.",
        advice: "Make one with `scripts/bench --json FILE`.")
    }
  }

  /// Our own program's runs in the first of these rows that is there, by the first contender that `isIt` takes.
  ///
  /// - Parameter what: What the contender is, for the message when none is there.
  /// - Throws: ``CostsError`` when there is no such run.
  func measured(
    _ names: [String], _ what: String, _ isIt: (String) -> Bool = { _ in true }
  ) throws -> MeasuredContender {
    let advice = "Run `scripts/bench --only \(Self.needed) --json FILE`."
    let found = names.lazy.compactMap { name in self.rows.first { $0.name == name } }.first
    guard let row = found else {
      throw CostsError(
        message: "The results have no row \(names.joined(separator: " or ")).", advice: advice)
    }
    if let failure = row.failure {
      throw CostsError(message: "The row \(row.name) was not measured: \(failure)", advice: advice)
    }
    guard let contender = row.contenders.first(where: { $0.part == "ours" && isIt($0.name) }) else {
      throw CostsError(message: "The row \(row.name) has no contender \(what).", advice: advice)
    }
    guard contender.failure == nil, !contender.samples.isEmpty else {
      let reason = contender.failure.map { ": \($0)" } ?? "."
      throw CostsError(
        message: "\(contender.name) of the row \(row.name) was not measured\(reason)", advice: advice)
    }
    return MeasuredContender(row: row.name, name: contender.name, runs: contender.samples, advice: advice)
  }

  /// The rows that a day is computed from.
  private static let needed = "enqueue-one,enqueue-bulk,whole-job-50ms,image-store"
}
