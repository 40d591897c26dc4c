import CommandLineTool
import Support

/// `analysisctl clinics show`.
enum ClinicsShowCommand {
  static let command = ControlCommand(
    "show", abstract: "Show a clinic's kind, address, product and logos.",
    examples: [Example("analysisctl clinics show north", "One clinic.")],
    inputs: [ClinicsCommand.clinic],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let name = try context[ClinicsCommand.clinic]
    return try await context.withSession { session in
      try await show(name, ClinicDirectory(session.database), session)
    }
  }

  static func show(
    _ name: String, _ directory: ClinicDirectory, _ session: ControlSession
  ) async throws -> ExitCode {
    guard let clinic = try await directory.clinic(named: name) else {
      throw CommandFailure(
        .refused, "there is no clinic \(printable(name))", advice: "Look with analysisctl clinics.")
    }
    try session.view.show(clinic)
    return .done
  }
}

/// Shows all that is known of a clinic.
extension Clinic: Presentable {
  var json: JSONValue {
    [
      "id": .count(id), "clinic": .string(name), "users": .count(users), "kind": .string(kind.rawValue),
      "address": .array(address.map(JSONValue.string)), "product": .text(product),
      "logo": logo?.json ?? .null, "pharmacy_logo": pharmacyLogo?.json ?? .null,
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    var facts = Facts([("clinic", name), ("kind", kind.rawValue)])
    for line in address { facts.add("address", line) }
    facts.add("product", product)
    facts.add("logo", logo?.text)
    facts.add("pharmacy logo", pharmacyLogo?.text)
    facts.add("users", String(users))
    return facts.text
  }
}

extension ClinicLogo {
  fileprivate var json: JSONValue {
    ["sha256": .string(sha256), "width": .count(width), "height": .count(height)]
  }

  /// `400 by 120 pixels, sha256 1f0c…`.
  fileprivate var text: String { "\(width) by \(height) pixels, sha256 \(sha256)" }
}
