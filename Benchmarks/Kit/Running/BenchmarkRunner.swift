/// Runs rows one after the other, the contenders of each interleaved.
public struct BenchmarkRunner: Sendable {
  private let bench: Bench

  /// A runner of rows on a bench.
  public init(_ bench: Bench) {
    self.bench = bench
  }

  /// Runs a row. What fails is noted in its result and stops neither the other contenders nor the next row.
  public func run(_ row: some BenchmarkRow) async -> RowResult {
    var result = RowResult(name: row.name, sentence: row.sentence, headline: row.headline)
    do {
      try await run(row, into: &result)
    } catch {
      result.failure = "\(error)"
      bench.say("\(row.name): \(error)")
    }
    await row.clean(bench)
    do { try await bench.cluster.dropAll() } catch { result.failure = "\(error)" }
    return result
  }

  private func run(_ row: some BenchmarkRow, into result: inout RowResult) async throws {
    let contenders = try await row.contenders(bench)
    result.contenders = contenders.map { ContenderResult(name: $0.name, part: $0.part) }
    let runs = row.runs(bench.settings)
    for turn in Interleaving.order(contenders: contenders.count, runs: runs) {
      let contender = contenders[turn.contender]
      guard result.contenders[turn.contender].failure == nil else { continue }
      let title = "\(row.name), \(contender.name), run \(turn.run + 1)"
      do {
        let sample = try await contender.measure(bench)
        result.contenders[turn.contender].samples.append(sample)
        let value = row.headline.value(of: sample).map { FigureText.number($0) } ?? "nothing"
        bench.say("\(title): \(value) \(row.headline.unit)")
      } catch {
        result.contenders[turn.contender].failure = "\(error)"
        bench.say("\(title): \(error)")
      }
    }
  }
}
