import CommandLineTool
import PostgreSQL
import Queue
import Support

/// Looks, before anything is submitted, which pictures are paid for this month already.
struct PaidBefore: Sendable {
  /// What is to be done with such pictures.
  enum Choice: Sendable, Equatable {
    /// Ask on a terminal, refuse elsewhere.
    case ask
    /// Submit them, and pay twice.
    case again
    /// Leave them out.
    case onlyNew
  }

  let choice: Choice
  let submitter: Submitter
  let intake: ImageIntake
  let session: ControlSession

  /// The items that are to be submitted.
  ///
  /// - Throws: `CommandFailure` with `paidBefore` where nothing is to be.
  func agreed(_ items: [SubmitItem]) async throws -> [SubmitItem] {
    guard choice != .again else { return items }
    let paid = try await paid(items)
    if paid.isEmpty { return items }
    let of = "\(paid.count) of \(items.count)"
    if choice == .onlyNew {
      session.console.say("Left out as analysed this month, or about to be: \(of).")
      return items.indices.filter { !paid.contains($0) }.map { items[$0] }
    }
    let what = "\(of) were submitted this month under another key, and are paid for."
    guard let isYes = try await Confirmation.ask("\(what) Submit all, and pay for them twice?", session)
    else {
      throw CommandFailure(
        .paidBefore, "\(what) Nothing was submitted.",
        advice: "Give --only-new to submit the others, or --again to pay twice.")
    }
    guard isYes else {
      throw CommandFailure(
        .paidBefore, "Nothing was submitted.", advice: "Give --only-new to submit the others alone.")
    }
    return items
  }

  /// The indices of the items that are paid for.
  ///
  /// A picture is known by the hash of what is stored, so it has to be read and cleaned to be asked for. That is done
  /// for those alone whose user has jobs of the type this month, and whose key is new.
  private func paid(_ items: [SubmitItem]) async throws -> Set<Int> {
    let asked = items.indices.filter { Self.question(items[$0], nil) != nil }
    let open = try await submitter.billedBefore(asked.compactMap { Self.question(items[$0], nil) })
      .sorted().map { asked[$0] }
    let hashed = try await hashed(open, of: items)
    let paid = Set(try await submitter.billedBefore(hashed.map(\.question)).map { hashed[$0].index })
    let known = asked.filter { !open.contains($0) }
    guard !paid.isEmpty, !known.isEmpty else { return paid }
    // Where a run is carried on, what is there twice is paid for by the other one of the same run.
    let others = Set(try await self.hashed(known, of: items).map { Picture($0.question) })
    return paid.subtracting(hashed.filter { others.contains(Picture($0.question)) }.map(\.index))
  }

  /// What makes a picture the same as another, whatever its key.
  private struct Picture: Hashable {
    let user: String
    let kind: AnalysisKind
    let sha256: [UInt8]?

    init(_ question: PictureInQuestion) {
      (user, kind, sha256) = (question.user, question.kind, question.sha256)
    }
  }

  /// The items at the indices whose pictures can be read and cleaned, with their hashes.
  private func hashed(
    _ indices: [Int], of items: [SubmitItem]
  ) async throws -> [(index: Int, question: PictureInQuestion)] {
    var hashed: [(index: Int, question: PictureInQuestion)] = []
    var rest = indices[...]
    while !rest.isEmpty {
      let interruption = session.interruption
      let chunk = await intake.chunk(rest.map { items[$0] }[...]) { interruption.isAsked }
      try Task.checkCancellation()
      guard !chunk.isEmpty else { break }
      for (index, prepared) in zip(rest, chunk) {
        if case .success(let image) = prepared.image, let question = Self.question(items[index], image.sha256)
        {
          hashed.append((index, question))
        }
      }
      // Where no image can be cleaned here, the submit says so.
      if chunk.contains(where: { $0.fault != nil }) { break }
      rest = rest.dropFirst(chunk.count)
    }
    return hashed
  }

  private static func question(_ item: SubmitItem, _ sha256: [UInt8]?) -> PictureInQuestion? {
    guard let user = item.user, let kind = item.kind, !user.isEmpty, !user.contains("\0") else { return nil }
    switch item.source {
    // What is at an address is fetched once, when its turn comes: the address may be good for one time only.
    case .none, .url: return nil
    case .file, .bytes: break
    }
    return PictureInQuestion(user: user, kind: kind, key: item.key, sha256: sha256)
  }
}
