import CommandLineTool
import Support

extension ControlSession {
  /// Refuses a feature that the product of whose webhook it is has switched off: of the clinic, or of the user's clinic.
  func require(_ feature: Feature, of owner: Webhook.Owner) async throws {
    guard try context[ProductOptions.folder] != nil else { return }
    let clinic: String?
    switch owner {
    case .clinic(let name): clinic = name
    case .user(let user): clinic = try await UserDirectory(database).appearances(of: [user])[user]?.clinic
    }
    guard let clinic else { return }
    let product = try await ClinicDirectory(database).clinic(named: clinic)?.product
    try await context.product(named: product)?.require(feature)
  }

  /// Refuses reviews that the product of the clinic whose patient a job's user is has switched off.
  func requireReviews(of job: JobID) async throws {
    guard try context[ProductOptions.folder] != nil else { return }
    let product = try await ReviewDirectory(database).product(of: job)
    try await context.product(named: product)?.require(.reviews)
  }

  /// The same for a webhook by its number. Where there is none, the database refuses it.
  func require(_ feature: Feature, of webhook: WebhookID) async throws {
    guard try context[ProductOptions.folder] != nil,
      let found = try await WebhookDirectory(database).list().first(where: { $0.id == webhook })
    else { return }
    try await require(feature, of: found.owner)
  }
}
