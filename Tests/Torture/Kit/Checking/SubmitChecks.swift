import Support

/// Compares what was submitted with what is there, and counts as Jepsen's checker of queues does.
struct SubmitChecks {
  /// The counts, in jobs.
  struct Counts: Sendable, Equatable {
    /// Submits that were made, repeats of a key included.
    var submits = 0
    /// Jobs that were acknowledged.
    var acknowledged = 0
    /// Submits that were refused.
    var refused = 0
    /// Submits without an answer.
    var unknown = 0
    /// Of these, those that turned out to be there.
    var recovered = 0
    /// Acknowledged and not there.
    var lost = 0
    /// There, and never submitted or even refused.
    var unexpected = 0
    /// There more than once.
    var duplicated = 0
    /// Jobs there are.
    var jobs = 0
  }

  let records: [SubmitRecord]
  let jobs: [DatabaseFacts.Job]

  func findings() -> [Finding] {
    [
      Finding("I1 lost", "every acknowledged job is there", broken: lost),
      Finding("I1 ended", "every job has ended, or waits for a later time", broken: unended),
      Finding("I2 unexpected", "no job without a submit", broken: unexpected),
      Finding("I3 duplicated", "one submit or key, one job", broken: duplicated),
    ]
  }

  var counts: Counts {
    let unknown = records.filter { $0.outcome == .unknown }
    let tags = Set(jobs.compactMap(\.tag))
    return Counts(
      submits: records.count, acknowledged: Set(records.compactMap(\.job)).count,
      refused: records.count { if case .refused = $0.outcome { true } else { false } },
      unknown: unknown.count, recovered: unknown.count { tags.contains($0.tag) }, lost: lost.count,
      unexpected: unexpected.count, duplicated: duplicated.count, jobs: jobs.count)
  }

  // MARK: Parts

  private var lost: [String] {
    let there = Set(jobs.map(\.id))
    let missing = Dictionary(grouping: records.filter { $0.job.map { !there.contains($0) } ?? false }) {
      $0.job
    }
    return missing.compactMap { job, records in
      job.map { "job \($0) of \(records[0].user), acknowledged as \(records[0].tag), is not there" }
    }.sorted()
  }

  private var unended: [String] {
    jobs.filter { $0.place == .open }.map { "job \($0.id) has not ended" }
  }

  private var unexpected: [String] {
    let known = Dictionary(records.map { ($0.tag, $0) }) { first, _ in first }
    return jobs.compactMap { job in
      guard let record = job.tag.flatMap({ known[$0] }) else {
        return job.isErased || job.isStress ? nil : "job \(job.id) of \(job.user) fits no submit"
      }
      switch record.outcome {
      case .created(let named), .duplicate(let named):
        return named == job.id ? nil : "job \(job.id) is of \(record.tag), which was answered with \(named)"
      case .refused(let reason): return "job \(job.id) is there, though \(record.tag) was refused (\(reason))"
      case .unknown: return nil
      }
    }
  }

  private var duplicated: [String] {
    var broken: [String] = []
    for (tag, made) in Dictionary(grouping: jobs, by: \.tag) where made.count > 1 {
      guard let tag else { continue }  // unexpected ones, told above
      broken.append("\(tag) made \(made.count) jobs: \(list(made.map(\.id)))")
    }
    let keyed = Dictionary(grouping: records.filter { $0.key != nil }) { "\($0.user) \($0.key ?? "")" }
    let jobOfTag = Dictionary(jobs.compactMap { job in job.tag.map { ($0, job.id) } }) { first, _ in first }
    for (key, records) in keyed where records.count > 1 {
      let answered = records.compactMap(\.job)
      let made = records.compactMap { jobOfTag[$0.tag] }
      let ids = Set(answered + made)
      if ids.count > 1 { broken.append("the key of \(key) has \(ids.count) jobs: \(list(Array(ids)))") }
    }
    return broken.sorted()
  }

  private func list(_ ids: [JobID]) -> String {
    ids.sorted().map(\.description).joined(separator: ", ")
  }
}
