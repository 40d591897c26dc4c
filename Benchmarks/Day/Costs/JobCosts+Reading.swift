extension JobCosts {
  /// Takes the costs from what was measured.
  ///
  /// - In the database: the work is that of a whole job (`whole-job-50ms`, else `whole-job`, by the contender that
  ///   stands first), the submit that of `enqueue-bulk` with images. One a call, it is `enqueue-one` and what the
  ///   bytes cost in bulk: submits with images less those without.
  /// - In an object store: work and submit are those of `image-store`, the worker's and the store's own costs too. One a
  ///   call, the submit is `enqueue-one` and what a new object costs in bulk.
  ///
  /// - Throws: ``CostsError`` when a row is missing or says nothing.
  public init(_ results: MeasuredResults, images: Images, submits: Submits) throws {
    let withImages = try results.measured(["enqueue-bulk"], "that sends images") { Self.kilobytes($0) != nil }
    let bare = try results.measured(["enqueue-bulk"], "without images") { Self.kilobytes($0) == nil }
    let whole: MeasuredContender
    let (work, inBulk): (Part, Part)
    switch images {
    case .database:
      whole = try results.measured(["whole-job-50ms", "whole-job"], "of ours")
      (work, inBulk) = (try whole.part(), try withImages.part())
    case .objects:
      whole = try results.measured(["image-store"], "with an object store") { $0 == "in the object store" }
      (work, inBulk) = (try whole.part(of: "work"), try whole.part(of: "submit"))
    }
    let one = submits == .one ? try results.measured(["enqueue-one"], "of ours") : nil
    let submit = try one.map { try $0.part() + (inBulk - bare.part()) } ?? inBulk
    let sources =
      [whole] + (one.map { [$0, bare] } ?? []) + (images == .database ? [withImages] : [])
    self.init(
      submit: submit, work: work, workerSeconds: try whole.workerSeconds(), transactions: whole.transactions,
      storeSeconds: whole.storeSeconds, imageBytes: (Self.kilobytes(withImages.name) ?? 0) * 1000,
      images: images, sources: sources.map(\.source))
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
