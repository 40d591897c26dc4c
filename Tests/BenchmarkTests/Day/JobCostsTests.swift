import BenchmarkKit
import Foundation
import Testing

@testable import BenchmarkDay

@Suite("The costs of a job")
struct JobCostsTests {
  private static func near(_ one: Double, _ other: Double) -> Bool {
    abs(one - other) <= 1e-9 * max(abs(one), abs(other))
  }

  @Test("are those of the whole job and of a submit in bulk, by the median of the runs")
  func bulk() throws {
    let results = try SampleDay.results(SampleDay.whole, SampleDay.bulk)
    let costs = try JobCosts(results, images: .database, submits: .bulk)
    #expect(Self.near(costs.work.serverSeconds, 0.0005))
    #expect(costs.work.logBytes == 2000)
    #expect(Self.near(costs.workerSeconds, 0.0002))
    #expect(Self.near(costs.submit.serverSeconds, 0.0006))
    #expect(costs.submit.logBytes == 130_000)
    #expect(costs.imageBytes == 120_000)
    #expect(costs.sources.contains("whole-job-50ms: 64 in flight"))
    #expect(costs.transactions == nil)
    let counted = SampleDay.whole.replacing(
      "\"wal_bytes", with: "\"transactions_per_job\": 0.25, \"wal_bytes")
    #expect(
      try JobCosts(SampleDay.results(counted, SampleDay.bulk), images: .database, submits: .bulk).transactions
        == 0.25)
  }

  @Test("of a submit alone are those of one call and of the bytes")
  func one() throws {
    let results = try SampleDay.results(SampleDay.whole, SampleDay.bulk, SampleDay.one)
    let costs = try JobCosts(results, images: .database, submits: .one)
    #expect(Self.near(costs.submit.serverSeconds, 0.001 + 0.0006 - 0.0001))
    #expect(costs.submit.logBytes == 1500 + 130_000 - 800)
  }

  @Test("with the images elsewhere are those of the row that has them in an object store")
  func objects() throws {
    let results = try SampleDay.results(SampleDay.bulk, SampleDay.one, SampleDay.store)
    let costs = try JobCosts(results, images: .objects, submits: .one)
    #expect(Self.near(costs.work.serverSeconds, 0.00004))
    #expect(costs.work.logBytes == 1700)
    #expect(Self.near(costs.submit.serverSeconds, 0.001 + 0.00016 - 0.0001))
    #expect(costs.submit.logBytes == 1500 + 1800 - 800)
    #expect(Self.near(costs.workerSeconds, 0.0003))
    #expect(costs.storeSeconds.map { Self.near($0, 0.0005) } == true)
    let bulk = try JobCosts(results, images: .objects, submits: .bulk)
    #expect(Self.near(bulk.submit.serverSeconds, 0.00016))
    #expect(bulk.submit.logBytes == 1800)
    #expect(bulk.sources == ["image-store: in the object store"])
  }

  @Test("fall back on the endpoint without delay")
  func undelayed() throws {
    let row = SampleDay.whole.replacing("whole-job-50ms", with: "whole-job")
    let costs = try JobCosts(
      SampleDay.results(row, SampleDay.bulk), images: .database, submits: .bulk)
    #expect(costs.sources.contains("whole-job: 64 in flight"))
  }

  @Test(
    "say which row is missing, and what to run",
    arguments: [
      ([SampleDay.bulk], JobCosts.Images.database, "no row whole-job-50ms or whole-job"),
      ([SampleDay.whole], .database, "no row enqueue-bulk"),
      ([SampleDay.whole, SampleDay.bulk], .database, "no row enqueue-one"),
      ([SampleDay.whole, SampleDay.bulk, SampleDay.one], .objects, "no row image-store"),
    ])
  func missing(_ rows: [String], _ images: JobCosts.Images, _ words: String) throws {
    let results = try SampleDay.results(rows.joined(separator: ","))
    let error = #expect(throws: CostsError.self) {
      try JobCosts(results, images: images, submits: .one)
    }
    #expect(error?.message.contains(words) == true)
    #expect(
      error?.advice.contains("scripts/bench --only enqueue-one,enqueue-bulk,whole-job-50ms,image-store")
        == true)
  }

  @Test("are refused where a contender failed, or ran so briefly that the clock saw nothing")
  func unusable() throws {
    let failed =
      #"{"name": "whole-job", "contenders": [{"name": "64", "part": "ours", "samples": [], "failure": "no port"}]}"#
    #expect(throws: CostsError.self) {
      try JobCosts(SampleDay.results(failed, SampleDay.bulk), images: .database, submits: .bulk)
    }
    let unprepared = #"{"name": "whole-job", "contenders": [], "failure": "no disk"}"#
    let error = #expect(throws: CostsError.self) {
      try JobCosts(SampleDay.results(unprepared, SampleDay.bulk), images: .database, submits: .bulk)
    }
    #expect(error?.message.contains("no disk") == true)
    let brief = SampleDay.row(
      "whole-job", SampleDay.contender("64", [SampleDay.run(10, worker: 0.1, server: 0, log: 5)]))
    #expect(throws: CostsError.self) {
      try JobCosts(SampleDay.results(brief, SampleDay.bulk), images: .database, submits: .bulk)
    }
    #expect(throws: CostsError.self) { try MeasuredResults(Data("[]".utf8)) }
  }

  @Test("can be read from the file that the benchmarks write")
  func written() throws {
    let sample = Sample(
      amount: 1000, seconds: 1, workerSeconds: 0.2, serverSeconds: 0.5, peakMemory: 1,
      further: ["wal_bytes_per_job": 2000])
    let rows = [
      "whole-job": ["64 in flight"], "enqueue-bulk": ["1000 a call", "with 120 kB each, 64 a call"],
    ]
    .map { name, contenders in
      RowResult(
        name: name, sentence: "", headline: .rate(of: "jobs"),
        contenders: contenders.map { ContenderResult(name: $0, part: .ours, samples: [sample]) })
    }
    let file = ResultFile(machine: nil, settings: BenchmarkSettings(isQuick: true), rows: rows)
    let results = try MeasuredResults(file.data())
    #expect(results.isQuick)
    #expect(try JobCosts(results, images: .database, submits: .bulk).work.logBytes == 2000)
  }
}
