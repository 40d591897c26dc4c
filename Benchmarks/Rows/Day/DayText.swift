import BenchmarkDay
import BenchmarkKit
import CommandLineTool

/// A forecast as text for people.
enum DayText {
  /// The limit of waiting jobs in all that an installation has by default (`max_waiting`).
  private static let usualLimit = 20_000_000

  /// The costs and assumptions, the table, the hours of the day, and what came of it.
  static func text(_ forecast: DayForecast) -> String {
    [assumptions(forecast), scale(forecast.table), hours(forecast.day), outcome(forecast)]
      .joined(separator: "\n")
  }

  private static func assumptions(_ forecast: DayForecast) -> String {
    let costs = forecast.costs
    let machine = forecast.machine
    let fleet = forecast.fleet
    return """
      Measured, a job: server \(micro(costs.submit.serverSeconds)) us to submit and \
      \(micro(costs.work.serverSeconds)) us to work, worker \(micro(costs.workerSeconds)) us\(transactions(costs))\(store(costs)), log \
      \(kilo(costs.submit.logBytes)) kB and \(kilo(costs.work.logBytes)) kB, image \(kilo(costs.imageBytes)) kB
        (\(costs.sources.joined(separator: "; ")))
      Assumed: log \(mega(machine.logBytesPerSecond)) MB/s, network \
      \(FigureText.number(machine.networkBytesPerSecond * 8 / 1e9)) Gbit/s each way, \(machine.connections) \
      connections for workers, \(machine.standbys) standbys; calls of \(FigureText.number(fleet.callSeconds)) s, \
      \(fleet.inFlight) in flight a worker; cores as fast as the measuring machine's

      """
  }

  private static func scale(_ table: ScaleTable) -> String {
    let titles = [
      "cores", "images in", "processors", "log", "network", "connections", "first wall", "jobs/s",
      "million a day",
      "workers", "connections held", "their cores", "stores/s",
    ]
    var rows = Table(titles.map { Table.Column($0, alignment: .right) })
    for line in table.lines {
      let network = [line.rates[.networkIn], line.rates[.networkOut]].compactMap { $0 }.min()
      rows.add(
        [
          "\(line.cores)", line.images.rawValue, rate(line.rates[.processors]), rate(line.rates[.log]),
          rate(network), rate(line.rates[.connections]), line.wall.text, rate(line.rate),
          FigureText.number(line.rate * 86_400 / 1e6), "\(line.workers)", "\(line.connections)",
          FigureText.number(line.workerCores), rate(line.stores),
        ].map { Cell($0) })
    }
    return "Jobs a second until each resource of a server has run out:\n" + indented(rows)
  }

  private static func hours(_ day: DaySimulation) -> String {
    let titles = [
      "hour", "arrived", "done", "not done at its end", "longest wait, min", "processors %", "log MB/s",
      "scarcest",
    ]
    var rows = Table(titles.map { Table.Column($0, alignment: .right) })
    for hour in day.hours.prefix(24) {
      rows.add(
        [
          "\(hour.hour)", whole(hour.arrived), whole(hour.done), whole(hour.backlog),
          "\(hour.longestWaitMinutes)",
          FigureText.number(hour.processors * 100), FigureText.number(hour.logBytesPerSecond / 1e6),
          "\(hour.scarcest.text) \(FigureText.fixed(hour.scarcestUse * 100, places: 0)) %",
        ].map { Cell($0) })
    }
    return "The day:\n" + indented(rows)
  }

  private static func outcome(_ forecast: DayForecast) -> String {
    let (day, costs) = (forecast.day, forecast.costs)
    let server = costs.submit.serverSeconds + costs.work.serverSeconds
    let store =
      costs.storeSeconds.map { seconds in
        """
        , \(FigureText.number(day.hardestRate * seconds)) cores of the object store and \
        \(FigureText.number(day.hardestRate * costs.imageBytes * 8 / 1e9)) Gbit/s to it and from it
        """
      } ?? ""
    var text =
      switch day.cleared {
      case nil: "The jobs are not done within a week after the day.\n"
      case let minute? where minute > Arrivals.minutesOfDay:
        "The last job is done \(clock(minute - Arrivals.minutesOfDay)) after the day's end.\n"
      default: "The last job is done within the day.\n"
      }
    text += """
      At worst \(whole(day.worstBacklog)) jobs are not done, and the head of the line has waited \
      \(clock(day.longestWaitMinutes)). The batch customer begins at \(clock(forecast.arrivals.burst)).
      The hardest minute does \(rate(day.hardestRate)) jobs a second. It needs \
      \(FigureText.number(day.hardestRate * server)) cores of the server and \
      \(mega(day.hardestRate * (costs.submit.logBytes + costs.work.logBytes))) MB/s of log, \(day.workers) workers with \
      \(day.workers * WorkerFleet.connectionsEach) connections and \
      \(FigureText.number(day.hardestRate * costs.workerSeconds)) cores\(store); \
      \(FigureText.number(day.imageBytes / 1e12)) TB of images are stored.

      """
    if day.worstBacklog > usualLimit {
      text += "Beyond \(whole(usualLimit)) waiting jobs submits are refused, unless max_waiting is raised.\n"
    }
    return text
  }

  private static func transactions(_ costs: JobCosts) -> String {
    costs.transactions.map { " and \(FigureText.number($0)) transactions" } ?? ""
  }

  private static func store(_ costs: JobCosts) -> String {
    costs.storeSeconds.map { ", object store \(micro($0)) us" } ?? ""
  }

  private static func micro(_ seconds: Double) -> String { FigureText.number(seconds * 1e6) }
  private static func kilo(_ bytes: Double) -> String { FigureText.number(bytes / 1000) }
  private static func mega(_ bytes: Double) -> String { FigureText.number(bytes / 1e6) }
  private static func whole(_ count: Int) -> String { FigureText.fixed(Double(count), places: 0) }
  private static func rate(_ rate: Double?) -> String {
    rate.map { FigureText.fixed($0, places: 0) } ?? "-"
  }
  private static func clock(_ minutes: Int) -> String {
    "\(minutes / 60):" + (minutes % 60 < 10 ? "0" : "") + "\(minutes % 60)"
  }
  private static func indented(_ table: Table) -> String {
    table.render().split(separator: "\n").map { "  \($0)\n" }.joined()
  }
}
