public import Foundation

/// Everything that was measured, as JSON.
public struct ResultFile: Sendable, Encodable {
  struct Settings: Encodable {
    let quick: Bool
    let runs: Int
  }

  struct Row: Encodable {
    let name: String
    let sentence: String
    let unit: String
    let contenders: [Contestant]
    let failure: String?
  }

  struct Contestant: Encodable {
    let name: String
    let part: Contender.Part
    let headline: Summary?
    let ratioToFirst: Double?
    let workerMillisecondsPerThousand: Summary?
    let serverMillisecondsPerThousand: Summary?
    let peakMemoryBytes: Summary?
    let samples: [Sample]
    let failure: String?
  }

  let machine: MachineFacts?
  let settings: Settings
  let rows: [Row]
  /// Whether everything was measured that was to be.
  public let isWhole: Bool

  /// The results of rows on a machine.
  public init(machine: MachineFacts?, settings: BenchmarkSettings, rows: [RowResult]) {
    self.machine = machine
    isWhole = rows.allSatisfy(\.isWhole)
    self.settings = Settings(quick: settings.isQuick, runs: settings.runs)
    self.rows = rows.map { row in
      Row(
        name: row.name, sentence: row.sentence, unit: row.headline.unit,
        contenders: row.contenders.map { contender in
          Contestant(
            name: contender.name, part: contender.part, headline: contender.summary(row.headline.value(of:)),
            ratioToFirst: row.ratio(of: contender),
            workerMillisecondsPerThousand: contender.summary(\.workerMilliseconds),
            serverMillisecondsPerThousand: contender.summary(\.serverMilliseconds),
            peakMemoryBytes: contender.summary { $0.peakMemory.map(Double.init) },
            samples: contender.samples, failure: contender.failure)
        }, failure: row.failure)
    }
  }

  /// The bytes of the file: sorted keys, indented, a newline at the end.
  public func data() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    encoder.keyEncodingStrategy = .convertToSnakeCase
    return try encoder.encode(self) + Data("\n".utf8)
  }
}
