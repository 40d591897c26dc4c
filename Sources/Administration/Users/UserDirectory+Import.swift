public import JobQueue
import PostgreSQL

/// What importing a profile came to.
public enum ImportOutcome: Sendable, Equatable {
  /// The user is new.
  case created
  /// The user was there; profile and plan are as the answer says.
  case updated
  /// Nothing was changed, for this reason.
  case refused(String)
}

extension UserDirectory {
  /// Takes over what the analysis backend says of users: adds those who are new, and sets plan and profile
  /// of all. What an answer leaves out stays as it is.
  ///
  /// - Parameter actor: who does it, for the audit; nil for what the server knows itself.
  /// - Returns: an outcome for each answer, in order; one that is refused does not stop the others.
  /// - Throws: errors of the database as a whole.
  public func importProfiles(
    _ answers: [ProfileAnswer], by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> [ImportOutcome] {
    var outcomes: [ImportOutcome] = []
    for answer in answers {
      do {
        outcomes.append(try await importProfile(answer, actor))
      } catch  where error.code == .invalid || error.code == .notFound || error.code == .badRow {
        outcomes.append(.refused(error.description))
      }
    }
    return outcomes
  }

  private func importProfile(
    _ answer: ProfileAnswer, _ actor: AuditActor?
  ) async throws(JobQueueError) -> ImportOutcome {
    let added = try await add(
      NewUser(
        reference: answer.id, plan: answer.subscription ?? "free", name: answer.name, email: answer.email))
    if let plan = answer.subscription, !added.isNew { try await setPlan(answer.id, plan: plan, by: actor) }
    try await Statement(
      QueueSQL.text("users/save_profile.sql"),
      [
        .int16(added.shard), .int64(added.userID), .text(answer.name.map(storable)),
        .text(answer.email.map(storable)), .text(answer.subscription),
        .int32(answer.analysisCount.map { Int32(clamping: $0) }), .double(answer.lastResetDate),
      ], while: "saving the profile of user \(answer.id)"
    ) { _ in
    }.run(on: database)
    // A statement of its own, so that a schema without photos takes the others.
    if let photo = answer.photoURL { try await setPhoto(answer.id, url: photo) }
    return added.isNew ? .created : .updated
  }
}
