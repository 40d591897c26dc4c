import BenchmarkDay

/// A scale table and a day, with what they were computed from.
struct DayForecast {
  let costs: JobCosts
  let machine: Machine
  let fleet: WorkerFleet
  let arrivals: Arrivals
  let table: ScaleTable
  let day: DaySimulation

  /// Computes both.
  ///
  /// - Parameter compared: The costs by the places of the images, for the table.
  init(costs: JobCosts, compared: [JobCosts], machine: Machine, fleet: WorkerFleet, arrivals: Arrivals) {
    self.costs = costs
    self.machine = machine
    self.fleet = fleet
    self.arrivals = arrivals
    table = ScaleTable(costs: compared, machine: machine, fleet: fleet)
    day = DaySimulation(arrivals, costs: costs, machine: machine, fleet: fleet)
  }
}
