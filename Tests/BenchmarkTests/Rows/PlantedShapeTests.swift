import Testing

@testable import BenchmarkRows

@Suite("Which jobs are planted")
struct PlantedShapeTests {
  @Test(
    "The months have each job once, and the last one all that has not begun",
    arguments: [
      PlantedJobs.Shape.month(5000),
      PlantedJobs.Shape(jobs: 3310, waiting: 300, scheduled: 10, deadOneIn: 500, months: 4),
      PlantedJobs.Shape(jobs: 11_010_000, waiting: 1_000_000, scheduled: 10_000, deadOneIn: 500, months: 4),
    ])
  func months(_ shape: PlantedJobs.Shape) {
    let months = (0..<shape.months).map { shape.numbers(ofMonth: $0) }
    #expect(months.first?.lowerBound == 1)
    #expect(months.last?.upperBound == shape.jobs)
    for (month, next) in zip(months, months.dropFirst()) {
      #expect(next.lowerBound == month.upperBound + 1)
      #expect(month.upperBound <= shape.begun)
    }
    #expect(months.last?.contains(shape.begun + 1) == true)
  }

  @Test("The numbers of dead jobs are those that the statements choose, all of them begun")
  func dead() {
    let shape = PlantedJobs.Shape(jobs: 3310, waiting: 300, scheduled: 10, deadOneIn: 500, months: 4)
    let chosen = (1...shape.begun).filter { $0 % shape.deadOneIn == 1 }
    #expect((0..<shape.deadCount).map(shape.dead) == chosen)
  }
}
