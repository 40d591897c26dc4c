extension JobCosts {
  /// Takes the costs from what was measured.
  ///
  /// - In the database: the work is that of a whole job (`whole-job-50ms`, else `whole-job`, by the contender that
  ///   stands first), the submit that of `enqueue-bulk` with images. One a call, it is `enqueue-one` and what the
  ///   bytes cost in bulk: submits with images less those without.
  /// - In an object store: the work is claim and completion of whole analyses (`drain`), the submit that of
  ///   `enqueue-one` or `enqueue-bulk` without images. The worker's own cost is that of the whole job still: to
  ///   fetch an image from a store is taken to cost it what fetching it from the database does.
  ///
  /// - Throws: ``CostsError`` when a row is missing or says nothing.
  public init(_ results: MeasuredResults, images: Images, submits: Submits) throws {
    let whole = try results.measured(["whole-job-50ms", "whole-job"], "of ours")
    let withImages = try results.measured(["enqueue-bulk"], "that sends images") { Self.kilobytes($0) != nil }
    let bare = try results.measured(["enqueue-bulk"], "without images") { Self.kilobytes($0) == nil }
    let one = submits == .one ? try results.measured(["enqueue-one"], "of ours") : nil
    let work =
      switch images {
      case .database: whole
      case .objects:
        try results.measured(["drain"], "of whole analyses, 100 a batch") {
          $0.hasPrefix("100 a batch") && $0.hasSuffix("whole analyses")
        }
      }
    let calls = try (one ?? bare).part()
    let submit: Part =
      switch (images, submits) {
      case (.objects, _): calls
      case (.database, .bulk): try withImages.part()
      case (.database, .one): calls + (try withImages.part() - bare.part())
      }
    let submitSources =
      (one.map { [$0] } ?? []) + (images == .database ? [withImages] : [])
      + (images == .database || one == nil ? [bare] : [])
    self.init(
      submit: submit, work: try work.part(), workerSeconds: try whole.workerSeconds(),
      transactions: whole.transactions,
      imageBytes: (Self.kilobytes(withImages.name) ?? 0) * 1000, images: images,
      sources: (images == .objects ? [whole, work] : [whole]).map(\.source) + submitSources.map(\.source))
  }

  /// The size in the name of a contender such as `with 120 kB each, 64 a call`; nil when it sends no images.
  static func kilobytes(_ name: String) -> Double? {
    let words = name.split(separator: " ")
    guard words.count > 2, words[0] == "with", words[2] == "kB" else { return nil }
    return Double(words[1])
  }
}

extension JobCosts.Part {
  /// Both one after the other.
  static func + (one: Self, other: Self) -> Self {
    Self(
      serverSeconds: one.serverSeconds + other.serverSeconds, logBytes: one.logBytes + other.logBytes)
  }

  /// What is left of a cost without a part of it; never below zero, whatever noise was measured.
  static func - (one: Self, other: Self) -> Self {
    Self(
      serverSeconds: max(0, one.serverSeconds - other.serverSeconds),
      logBytes: max(0, one.logBytes - other.logBytes))
  }
}
