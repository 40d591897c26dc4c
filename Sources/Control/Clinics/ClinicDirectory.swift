import PostgreSQL
import Queue
import Support

/// A clinic, whose users the reports of a restricted database role are about.
struct Clinic: Sendable, Equatable {
  let id: Int
  let name: String
  /// How many users it has.
  let users: Int
  var kind = ClinicKind.clinic
  /// Where it is, a line each; empty where that is not known.
  var address: [String] = []
  /// The product whose name and colours its documents have; nil for none.
  var product: String?
  /// Its logo as a clinic.
  var logo: ClinicLogo?
  /// Its logo as a pharmacy.
  var pharmacyLogo: ClinicLogo?
}

/// A logo that is kept, without its bytes.
struct ClinicLogo: Sendable, Equatable {
  /// The SHA-256 of its bytes, in lower-case hexadecimal.
  let sha256: String
  let width, height: Int
  /// The most bytes that one may have.
  static let mostBytes = 262_144
}

/// What is to be set of a clinic. Nil leaves a thing as it is; what is empty removes it.
struct ClinicChange: Sendable, Equatable {
  var kind: ClinicKind?
  /// Where it is, a line each: at most 10 of at most 100 characters.
  var address: [String]?
  /// Its product's name: small letters, digits, `_` and `-`.
  var product: String?
  /// Its logos as a clinic and as a pharmacy: cleaned JPEG pictures.
  var logo, pharmacyLogo: [UInt8]?

  init() {}

  /// Whether nothing is to be set.
  var isEmpty: Bool { self == ClinicChange() }
}

/// What the users of a clinic have used of the running month.
struct ClinicUsage: Sendable, Equatable, RenamedColumns {
  static let columns = ["clinicLogo": "logo"]

  let clinic: String
  /// How many users it has.
  let users: Int
  /// Units that they have taken.
  let used: Int64
  /// Submits that their limits have refused.
  let refused: Int64
  /// What it is; nil where that is not known.
  let kind: ClinicKind?
  /// The SHA-256 of its logo as a clinic.
  let clinicLogo: String?
  /// The SHA-256 of its logo as a pharmacy.
  let pharmacyLogo: String?

  /// The SHA-256 of the logo that stands for the clinic; nil where there is none.
  var logo: String? { kind?.logo(clinic: clinicLogo, pharmacy: pharmacyLogo) }
}

/// A database role that sees the users of some clinics only.
struct ClinicViewer: Sendable, Equatable, Decodable {
  let role: String
  /// The clinics that it sees, by name; none at all if it sees nobody.
  let clinics: [String]
}

/// The clinics, whose users are whose, and which database roles see which.
struct ClinicDirectory: Sendable {
  private let database: ConnectionPool

  /// The clinics of a database.
  init(_ database: ConnectionPool) {
    self.database = database
  }

  /// Every clinic by name.
  func list() async throws(JobQueueError) -> [Clinic] { try await shown(nil) }

  /// A clinic; nil where none has the name.
  func clinic(named name: String) async throws(JobQueueError) -> Clinic? {
    try await shown(storable(name)).first
  }

  private func shown(_ name: String?) async throws(JobQueueError) -> [Clinic] {
    try await Statement(
      SQLFunction("clinics_shown", 1), [.text(name)], as: [ClinicRow].self, while: "reading the clinics"
    ).run(on: database).map(\.shown)
  }

  /// Sets what is known of a clinic, all of it or nothing.
  ///
  /// - Throws: `notFound` for an unknown clinic, `badRow` for what cannot be.
  func set(
    _ change: ClinicChange, of clinic: String, by actor: AuditActor? = nil
  ) async throws(JobQueueError) {
    try await require([clinic])
    try await Self.setting(change, of: clinic).run(on: database, as: actor)
  }

  private static func setting(_ change: ClinicChange, of clinic: String) -> Statement<Void> {
    Statement(
      SQLFunction("set_clinic", 6),
      [
        .text(clinic), .text(change.kind?.rawValue),
        .text(change.address.map { storable($0.joined(separator: "\n")) }),
        .text(change.product.map(storable)), .bytes(change.logo), .bytes(change.pharmacyLogo),
      ], while: "setting what is known of clinic \(clinic)")
  }

  /// Has the database refuse what a product has switched off, whoever asks; false where it did so already.
  func apply(_ product: Product, by actor: AuditActor? = nil) async throws(JobQueueError) -> Bool {
    try await Statement(
      SQLFunction("set_product", 2), [.text(product.id), .array(product.offNames)], as: Bool.self,
      while: "keeping what product \(product.id) has switched off"
    ).run(on: database, as: actor)
  }

  /// What the clinics' users have used of the running month: the hundred that have used most.
  func usage() async throws(JobQueueError) -> [ClinicUsage] {
    try await Statement(
      SQLFunction("clinic_usage", 0), as: [ClinicUsage].self, while: "reading what the clinics have used"
    ).run(on: database)
  }

  /// The JPEG of a logo, by the SHA-256 of its bytes; nil where none is kept.
  func logo(_ sha256: String) async throws(JobQueueError) -> [UInt8]? {
    try await Statement(
      SQLFunction("logo_bytes", 1), [.text(storable(sha256))], as: [UInt8]?.self, while: "reading a logo"
    ).run(on: database)
  }

  /// The roles that are restricted, by name.
  func viewers() async throws(JobQueueError) -> [ClinicViewer] {
    try await Statement(
      SQLFunction("list_clinic_viewers", 0), as: [ClinicViewer].self,
      while: "listing the roles that are restricted to clinics"
    ).run(on: database)
  }

  /// Adds a clinic; false if it is there already, and is left as it is.
  ///
  /// - Parameter kind: what it is; nil for a clinic.
  /// - Throws: `invalid` for a name that is empty, longer than 100 characters or has a character that cannot be seen.
  func add(
    _ name: String, _ kind: ClinicKind? = nil, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Bool {
    guard (1...100).contains(name.unicodeScalars.count),
      name.unicodeScalars.allSatisfy(\.isPrintable)
    else {
      throw JobQueueError(
        .invalid, "A clinic's name must have from 1 to 100 characters, and none that cannot be seen.")
    }
    let adding = Statement(
      SQLFunction("add_clinic", 1), [.text(name)], as: Bool.self, while: "adding clinic \(name)")
    guard let kind else { return try await adding.run(on: database, as: actor) }
    var change = ClinicChange()
    change.kind = kind
    let setting = Self.setting(change, of: name)
    do {
      return try await database.transaction { transaction in
        if let actor { _ = try await transaction.query(actor.statement) }
        guard try await adding.run(on: transaction) else { return false }
        try await setting.run(on: transaction)
        return true
      }
    } catch {
      throw JobQueueError(error, while: "adding clinic \(name)")
    }
  }

  /// Gives a user to a clinic, or to none.
  ///
  /// - Throws: `notFound` for an unknown user or clinic.
  func assign(
    _ user: String, to clinic: String?, by actor: AuditActor? = nil
  ) async throws(JobQueueError) {
    if let clinic { try await require([clinic]) }
    let shard = try await ShardDirectory(database).shard(of: user)
    let isDone = try await Statement(
      SQLFunction("assign_clinic", 3), [.int16(shard), .text(user), .text(clinic)], as: Bool.self,
      while: "giving user \(user) to a clinic"
    ).run(on: database, as: actor)
    guard isDone else { throw UserDirectory.unknown(user) }
  }

  /// Has a role see the users of clinics, beside those that it sees already; of others it sees none from then on.
  ///
  /// - Throws: `notFound` for an unknown clinic, `badRow` for an unknown role or one that nothing restricts.
  func grant(
    _ clinics: [String], to role: String, by actor: AuditActor? = nil
  ) async throws(JobQueueError) {
    try await require(clinics)
    try await Statement(
      SQLFunction("grant_clinics", 2), [.text(storable(role)), .array(clinics)],
      while: "restricting role \(role)"
    ).run(on: database, as: actor)
  }

  /// Has a role see the users of clinics no more; false if it was not restricted to any.
  func revoke(
    _ clinics: [String], from role: String, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Bool {
    try await require(clinics)
    return try await Statement(
      SQLFunction("revoke_clinics", 2), [.text(storable(role)), .array(clinics)], as: Bool.self,
      while: "restricting role \(role)"
    ).run(on: database, as: actor)
  }

  /// Has a role see everybody again; false if it was not restricted.
  func lift(_ role: String, by actor: AuditActor? = nil) async throws(JobQueueError) -> Bool {
    try await Statement(
      SQLFunction("lift_clinics", 1), [.text(storable(role))], as: Bool.self,
      while: "lifting the restriction of role \(role)"
    ).run(on: database, as: actor)
  }

  private func require(_ names: [String]) async throws(JobQueueError) {
    let known = Set(try await list().map(\.name))
    guard let unknown = names.first(where: { !known.contains($0) }) else { return }
    throw JobQueueError(
      .notFound, "There is no clinic \(unknown).", advice: "Add it with analysisctl clinics add.")
  }
}

/// A row of `analysis.clinics_shown`.
private struct ClinicRow: Decodable {
  let clinic, users: Int
  let name: String
  let kind: ClinicKind?
  let address, product, logo, pharmacyLogo: String?
  let logoWidth, logoHeight, pharmacyLogoWidth, pharmacyLogoHeight: Int?

  var shown: Clinic {
    Clinic(
      id: clinic, name: name, users: users, kind: kind ?? .clinic,
      address: address?.split(separator: "\n").map(String.init) ?? [], product: product,
      logo: ClinicLogo(logo, logoWidth, logoHeight),
      pharmacyLogo: ClinicLogo(pharmacyLogo, pharmacyLogoWidth, pharmacyLogoHeight))
  }
}

extension ClinicLogo {
  fileprivate init?(_ sha256: String?, _ width: Int?, _ height: Int?) {
    guard let sha256, let width, let height else { return nil }
    self.init(sha256: sha256, width: width, height: height)
  }
}
