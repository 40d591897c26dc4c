import CommandLineTool
import EventLoop
import Glibc
import Images
import Support

/// What a product may have switched off. A new feature is a line here, and named by the commands that belong to it.
enum Feature: String, Sendable, CaseIterable {
  case webhooks
  case statements
  case imagesByURL = "images-by-url"
  case sharing
  case reviews
}

/// A product that this program serves: a name, colours, a logo and features, read from a file `NAME.conf`.
struct Product: Sendable, Equatable {
  /// The file's name without its ending.
  let id: String
  let path: String
  /// As people read it.
  let name: String
  let accent: Accent?
  /// The path of the logo, which lies in the folder of the file.
  let logo: String?
  /// Who bills for it; nil where that is not said.
  let issuer: Bill.Issuer?
  /// What is switched off, each with its line in the file.
  let off: [Feature: Int]

  /// What is wrong with a file, and where.
  struct Fault: Error, Sendable, Equatable {
    let path: String
    let line: Int?
    let message: String
    let code: ExitCode

    var description: String { "\(FileName.shown(path))\(line.map { ":\($0)" } ?? ""): \(message)" }
    var failure: CommandFailure { CommandFailure(code, description) }
  }

  private static let keys = Set(
    ["name", "accent", "accent-dark", "logo"] + IssuerKey.allCases.map(\.rawValue)
      + Feature.allCases.map(\.rawValue))

  /// What statements say of who bills.
  private enum IssuerKey: String, CaseIterable {
    case issuer
    case address = "issuer-address"
    case taxNumber = "tax-number"
    case paymentDays = "payment-days"
  }

  /// Reads a file. Blocks: call it where a thread may wait.
  init(_ id: String, in folder: String) throws(Fault) {
    let path = FolderListing.join(folder, id + ".conf")
    let file: ConfigurationFile
    do throws(SystemError) {
      file = try ConfigurationFile.read(path, keys: Self.keys)
    } catch {
      throw Fault(path: path, line: error.line, message: error.message, code: ExitCode(of: error))
    }
    func fault(_ key: String, _ message: String) -> Fault {
      Fault(path: path, line: file.entries[key]?.line, message: message, code: .usage)
    }
    func colour(_ key: String, isDark: Bool) throws(Fault) -> Colour? {
      guard let text = file.entries[key]?.value else { return nil }
      guard let colour = Colour(text) else {
        throw fault(key, "\(key) is not a colour; write \"#rrggbb\" in quotes: a bare # begins a comment")
      }
      if let faint = Accent.faint(colour, isDark: isDark) {
        throw fault(
          key,
          "\(key) \(colour) has a contrast of \(Self.ratio(faint.contrast)) to 1 with \(faint.paper), on which it "
            + "stands; at least \(Colour.leastContrast) to 1 is needed")
      }
      return colour
    }
    guard let name = file.entries["name"]?.value else { throw fault("name", "name is missing") }
    guard (1...100).contains(name.unicodeScalars.count), name.unicodeScalars.allSatisfy(\.isPrintable) else {
      throw fault("name", "name has 1 to 100 characters, and none that cannot be seen")
    }
    let colours = (try colour("accent", isDark: false), try colour("accent-dark", isDark: true))
    switch colours {
    case (let light?, let dark?): accent = Accent(light: light, dark: dark)
    case (nil, nil): accent = nil
    case (nil, _): throw fault("accent-dark", "accent-dark needs accent, for light pages")
    case (_, nil): throw fault("accent", "accent needs accent-dark, for dark pages")
    }
    issuer = try Self.issuer(file, fault)
    var off: [Feature: Int] = [:]
    for feature in Feature.allCases {
      guard let entry = file.entries[feature.rawValue] else { continue }
      switch entry.value {
      case "on": break
      case "off": off[feature] = entry.line
      default: throw fault(feature.rawValue, "\(feature.rawValue) is neither on nor off")
      }
    }
    if let given = file.entries["logo"]?.value {
      guard let inside = Self.inside(folder, given) else {
        throw fault("logo", "the logo does not lie in the folder of the products, or is not there")
      }
      logo = inside
    } else {
      logo = nil
    }
    (self.id, self.path, self.name, self.off) = (id, path, name, off)
  }

  /// Who bills: a name, and beside it an address of lines with semicolons between, a tax number, and days to pay.
  private static func issuer(
    _ file: ConfigurationFile, _ fault: (String, String) -> Fault
  ) throws(Fault) -> Bill.Issuer? {
    func text(_ key: IssuerKey) throws(Fault) -> String? {
      guard let text = file.entries[key.rawValue]?.value else { return nil }
      guard (1...200).contains(text.unicodeScalars.count), text.unicodeScalars.allSatisfy(\.isPrintable)
      else {
        throw fault(key.rawValue, "\(key.rawValue) has 1 to 200 characters, and none that cannot be seen")
      }
      return text
    }
    let (address, taxNumber, days) = (try text(.address), try text(.taxNumber), try text(.paymentDays))
    guard let name = try text(.issuer) else {
      guard let other = IssuerKey.allCases.first(where: { file.entries[$0.rawValue] != nil }) else {
        return nil
      }
      throw fault(other.rawValue, "\(other.rawValue) needs issuer, the name of who bills")
    }
    let paymentDays = days.flatMap { Int($0) }
    guard days == nil || paymentDays.map((0...365).contains) == true else {
      throw fault(IssuerKey.paymentDays.rawValue, "payment-days is a whole number from 0 to 365")
    }
    return Bill.Issuer(
      name,
      address: (address ?? "").split(separator: ";").map { $0.split(separator: " ").joined(separator: " ") },
      taxNumber: taxNumber, paymentDays: paymentDays)
  }

  /// The logo as it is shown; nil for none.
  ///
  /// - Throws: `CommandFailure` for a file that is no picture.
  func picture() async throws -> CleanImage? {
    guard let logo else { return nil }
    return try await LogoFile.read(logo)
  }

  /// Refuses what is switched off.
  func require(_ feature: Feature) throws(CommandFailure) {
    guard let refusal = refusal(of: feature) else { return }
    throw CommandFailure(.refused, refusal, advice: "Use another product, or switch it on there.")
  }

  /// What is said of a feature that is switched off; nil for one that is on.
  func refusal(of feature: Feature) -> String? {
    off[feature].map { line in
      "feature \(feature.rawValue) is off in product \(id), by line \(line) of \(FileName.shown(path))"
    }
  }

  /// Two digits, cut off: what is too little is not shown as enough.
  private static func ratio(_ contrast: Double) -> String {
    let hundredths = Int(contrast * 100)
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
  }

  /// Where a path leads below a folder, links followed; nil where it leads out of it or nowhere.
  private static func inside(_ folder: String, _ path: String) -> String? {
    guard let root = resolved(folder), let file = resolved(FolderListing.join(folder, path)),
      !path.hasPrefix("/"), file.hasPrefix(root == "/" ? "/" : root + "/")
    else { return nil }
    return file
  }

  private static func resolved(_ path: String) -> String? {
    guard let real = realpath(FileName.cString(path), nil) else { return nil }
    defer { free(real) }
    return FileName.text(UnsafeBufferPointer(start: real, count: strlen(real)).map { UInt8(bitPattern: $0) })
  }
}

/// The folder of the products, and the one that this program runs as.
enum ProductOptions {
  static let folder = Option<String?>(
    "products", .folder, environment: "ANALYSIS_PRODUCTS", key: "products",
    help: "The folder of the products, a file NAME.conf each.")
  static let product = Option<String?>(
    "as-product", .string, valueName: "NAME", environment: "ANALYSIS_PRODUCT", key: "product",
    help: "The product that this program runs as: its name, colours, logo and features.")

  /// A product of the folder by its name. Reads on a thread that may wait.
  static func read(_ id: String, in folder: String) async throws -> Product {
    guard !id.isEmpty, id.utf8.count <= 60, !id.hasPrefix("-"), !id.hasPrefix("_"),
      id.utf8.allSatisfy({
        ("a"..."z").contains(Unicode.Scalar($0)) || ("0"..."9").contains(Unicode.Scalar($0))
          || "-_".utf8.contains($0)
      })
    else {
      throw CommandFailure.usage(
        "\(printable(id)) is not the name of a product",
        advice:
          "It has small letters, digits, _ and -, and is the name of a file \(printable(folder))/NAME.conf.")
    }
    let reading = Task(executorPreference: globalConcurrentExecutor) { () -> Result<Product, Product.Fault> in
      do throws(Product.Fault) { return .success(try Product(id, in: folder)) } catch {
        return .failure(error)
      }
    }
    do throws(Product.Fault) {
      return try await reading.value.get()
    } catch {
      throw error.failure
    }
  }
}

extension ControlContext {
  /// The product that this program runs as; nil for none.
  func readProduct() async throws -> Product? {
    guard let id = try self[ProductOptions.product] else { return nil }
    guard let folder = try self[ProductOptions.folder] else {
      throw CommandFailure.usage("--as-product needs --products", advice: "Name the folder of the products.")
    }
    return try await ProductOptions.read(id, in: folder)
  }

  /// The product of a clinic, by its name; nil for a clinic of none, or without a folder.
  func product(named id: String?) async throws -> Product? {
    guard let id, let folder = try self[ProductOptions.folder] else { return nil }
    return try await ProductOptions.read(id, in: folder)
  }
}
