/// The parts of the dashboard, in the order of its menu.
enum Section: String, CaseIterable, Sendable {
  case overview, jobs, failures, batches, workers, usage, reviews, audit

  /// Where it is.
  var path: String { self == .overview ? "/" : "/\(rawValue)" }

  /// What the menu and its heading call it.
  var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
}
