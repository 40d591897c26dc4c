import CommandLineTool
import EventLoop
import Images
import Support

enum ClinicsSetCommand {
  static let kind = Option<ClinicKind?>(
    "kind", .choice(ClinicKind.self), help: "What it is: a clinic, a pharmacy, or both in one house.")
  static let address = Option<[String]>(
    repeating: "address", .string, help: "A line of its address, once for each line; all of them anew.")
  static let product = Option<String?>(
    "product", .string,
    help:
      "The product whose name and colours its statements have, see products. What its file has switched off, the "
      + "database refuses from then on.")
  static let logo = Option<String?>("logo", .path, help: "Its logo: a JPEG or PNG picture.")
  static let pharmacyLogo = Option<String?>(
    "pharmacy-logo", .path, help: "Its logo as a pharmacy: a JPEG or PNG picture.")
  static let removeAddress = Flag("remove-address", help: "Its address is not known any more.")
  static let removeProduct = Flag("remove-product", help: "It is of no product any more.")
  static let removeLogo = Flag("remove-logo", help: "It has no logo any more.")
  static let removePharmacyLogo = Flag("remove-pharmacy-logo", help: "It has no logo as a pharmacy any more.")

  static let command = ControlCommand(
    "set", abstract: "Set what a clinic is, where it is, its product and its logos.",
    discussion: """
      All of it is set or nothing. A clinic shows its logo, a pharmacy its pharmacy's logo or else the one that it has, \
      and one that is both the clinic's, or else the pharmacy's: above its statements, and for those of its users who have no photo. A \
      picture is cleaned as one that is submitted, made smaller where it has more than 800 pixels a side or 256 KiB, \
      and kept in the database as JPEG; what is transparent becomes white. A closed month keeps address and logos as \
      they were when it was closed.
      """,
    examples: [
      Example("analysisctl clinics set north --kind both --logo north.png", "A clinic with a pharmacy."),
      Example("analysisctl clinics set north --address Kota --address Jakarta", "An address of two lines."),
      Example("analysisctl clinics set north --remove-logo", "No logo."),
    ],
    inputs: [
      kind, address, removeAddress, product, removeProduct, logo, removeLogo, pharmacyLogo,
      removePharmacyLogo, ReasonOption.reason, ClinicsCommand.clinic,
    ],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let name = try context[ClinicsCommand.clinic]
    let change = try await change(context)
    guard !change.isEmpty else {
      throw CommandFailure.usage(
        "nothing is to be set", advice: "Give --kind, --address, --product or --logo.")
    }
    return try await context.withSession { session in
      let directory = ClinicDirectory(session.database)
      // A product whose file is wrong is nobody's.
      let product = try await context.product(named: change.product.flatMap { $0.isEmpty ? nil : $0 })
      try await directory.set(change, of: name, by: session.actor)
      if let product { _ = try await directory.apply(product, by: session.actor) }
      return try await ClinicsShowCommand.show(name, directory, session)
    }
  }

  /// What is to be set, with the pictures as they are kept.
  private static func change(_ context: ControlContext) async throws -> ClinicChange {
    var change = ClinicChange()
    change.kind = try context[kind]
    let lines = try context[address]
    if try context[removeAddress] {
      guard lines.isEmpty else { throw both("address") }
      change.address = []
    } else if !lines.isEmpty {
      change.address = lines
    }
    change.product = try given("product", context[product], isRemoved: context[removeProduct])
    let file = try given("logo", context[logo], isRemoved: context[removeLogo])
    let pharmacyFile = try given(
      "pharmacy-logo", context[pharmacyLogo], isRemoved: context[removePharmacyLogo])
    change.logo = try await picture(file)
    change.pharmacyLogo = try await picture(pharmacyFile)
    return change
  }

  /// What was given; an empty text where there is none any more, and nil for neither.
  private static func given(_ name: String, _ value: String?, isRemoved: Bool) throws -> String? {
    guard isRemoved else { return value }
    guard value == nil else { throw both(name) }
    return ""
  }

  private static func both(_ name: String) -> CommandFailure {
    .usage("--\(name) and --remove-\(name) cannot be given together")
  }

  /// The picture of a file; no bytes for the empty path.
  private static func picture(_ path: String?) async throws -> [UInt8]? {
    guard let path else { return nil }
    return path.isEmpty ? [] : try await LogoFile.read(path).bytes
  }
}

/// A logo as it is stored: a JPEG without metadata, of at most 800 pixels a side and 256 KiB, whatever was given.
enum LogoFile {
  private static let limits = ImageLimits(
    maxOutputBytes: ClinicLogo.mostBytes, maxDimension: 800, keepsPNG: false)

  /// Reads a file, and cleans it in a program of its own, as what is submitted.
  ///
  /// - Throws: `CommandFailure` for a file that cannot be read (66), and for one that is no picture (4).
  static func read(_ path: String) async throws -> CleanImage {
    let limit = limits.maxBytes
    // Reading blocks, so it is done where threads may wait.
    let reading = Task(executorPreference: globalConcurrentExecutor) {
      try InputFile.readText(path, limit: limit)
    }
    do {
      return try await PictureFile.clean(try await reading.value, limits)
    } catch let refusal as ImageRefusal {
      throw CommandFailure(.refused, "\(FileName.shown(path)) is no logo. \(refusal.message)")
    }
  }
}

/// A picture that a person names.
enum PictureFile {
  /// Cleans it in a program of its own.
  ///
  /// - Throws: `ImageRefusal` for what is no picture; what keeps every picture from being cleaned.
  static func clean(_ bytes: [UInt8], _ limits: ImageLimits) async throws -> CleanImage {
    do throws(UndecodedImage) {
      return try await ImageDecoders(slots: 1).clean(bytes, limits: limits)
    } catch {
      switch error {
      case .refused(let refusal): throw refusal
      case .unavailable(let fault): throw fault
      case .cancelled: throw CancellationError()
      }
    }
  }
}
