import CommandLineTool
import EventLoop
import Support

enum ProductsCommand {
  static let command = ControlCommand(
    "products", abstract: "Show the products that this program serves, and check their files.",
    discussion: """
      A product is a file NAME.conf in the folder of --products, in the form of the configuration files: its name, the \
      colours accent (on light pages) and accent-dark (on dark ones), a logo in the same folder, and features that are \
      on or off. --as-product says which one the program runs as; a clinic may have its own (clinics set --product). A \
      feature that is off is refused by every command that belongs to it, with exit code 4. What is off in a clinic's \
      product is refused by the database too, once it knows: to an app at the gateway, and to a back-end. clinics set \
      --product tells it, and products apply after a change of a file.
      """,
    examples: [
      Example("analysisctl products list --products /etc/analysis/products", "The products."),
      Example(
        "analysisctl products check --products /etc/analysis/products", "What is wrong with their files."),
      Example(
        "analysisctl products apply --products /etc/analysis/products",
        "Have the database refuse what is off."),
    ],
    subcommands: [list, check, apply])

  private static let list = ControlCommand(
    "list", abstract: "Show the products.",
    examples: [Example("analysisctl products list --json", "For a program.")],
    exitCodes: [.done, .refused, .nothingToDo, .usage, .unreadableInput, .tryLater], readsProduct: false
  ) { context in
    let response = try await read(context)
    if let fault = response.faults.first { throw fault.failure }
    try context.view.show(response)
    return response.products.isEmpty ? .nothingToDo : .done
  }

  private static let check = ControlCommand(
    "check", abstract: "Check the files of the products, their colours and logos.",
    discussion: "Exit code 1 when something is wrong: each fault is shown with its file and line.",
    examples: [Example("analysisctl products check", "Before the files are used.")],
    exitCodes: [.done, .jobFailed, .nothingToDo, .usage, .unreadableInput, .tryLater], readsProduct: false
  ) { context in
    let response = try await read(context)
    try context.view.show(response)
    if !response.faults.isEmpty { return .jobFailed }
    return response.products.isEmpty ? .nothingToDo : .done
  }

  private static let apply = ControlCommand(
    "apply", abstract: "Have the database refuse what the products have switched off.",
    discussion: """
      Sharing, reviews and webhooks of the users of a product's clinics are then refused at every door. Nothing is \
      applied where one of the files is wrong. Where the database knew all of it the exit code is 5.
      """,
    examples: [Example("analysisctl products apply", "After a change of their files.")],
    inputs: [ReasonOption.reason],
    exitCodes: [
      .done, .refused, .nothingToDo, .usage, .unreadableInput, .unreachable, .tryLater, .permission,
    ], readsProduct: false
  ) { context in
    let found = try await read(context)
    if let fault = found.faults.first { throw fault.failure }
    return try await context.withSession { session in
      let clinics = ClinicDirectory(session.database)
      var response = ProductsApplyResponse()
      for product in found.products {
        let isNew = try await clinics.apply(product, by: session.actor)
        response.lines.append(.init(product: product.id, off: product.offNames, isNew: isNew))
      }
      try session.view.show(response)
      return response.lines.contains { $0.isNew } ? .done : .nothingToDo
    }
  }

  /// Every product of the folder, by name, and what is wrong with the others.
  private static func read(_ context: ControlContext) async throws -> ProductsResponse {
    guard let folder = try context[ProductOptions.folder] else {
      throw CommandFailure.usage("no folder of products is named", advice: "Name it with --products.")
    }
    let listing = Task(executorPreference: globalConcurrentExecutor) { try FolderListing(folder) }
    var response = ProductsResponse()
    for name in try await listing.value.others where name.hasSuffix(".conf") {
      do {
        let product = try await ProductOptions.read(String(name.dropLast(5)), in: folder)
        _ = try await product.picture()
        response.products.append(product)
      } catch let failure as CommandFailure {
        response.faults.append(.init(file: name, failure: failure))
      }
    }
    return response
  }
}

/// The products of a folder.
struct ProductsResponse: Sendable, Presentable {
  struct Fault: Sendable {
    let file: String
    let failure: CommandFailure
  }

  var products: [Product] = []
  var faults: [Fault] = []

  private static let columns: [ListColumn<Product>] = [
    .init("PRODUCT") { Cell($0.id) }.json("product") { .string($0.id) },
    .init("NAME", wraps: true) { Cell($0.name) }.json("name") { .string($0.name) },
    .init("ACCENT") { Cell($0.accent?.light.description ?? "-") }
      .json("accent") { .text($0.accent?.light.description) },
    .init("DARK") { Cell($0.accent?.dark.description ?? "-") }
      .json("accent_dark") { .text($0.accent?.dark.description) },
    .init("LOGO") { $0.logo == nil ? "no" : "yes" }.json("logo") { .text($0.logo) },
    .init("OFF") { Cell($0.off.isEmpty ? "-" : $0.offNames.joined(separator: ", ")) }
      .json("off") { .array($0.offNames.map(JSONValue.string)) },
  ]

  var json: JSONValue {
    [
      "products": products.json(Self.columns),
      "faults": .array(
        faults.map { ["file": .string($0.file), "message": .string($0.failure.message)] }),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let shown = products.isEmpty ? "" : products.table(Self.columns).render(width: width, paint: paint)
    if products.isEmpty, faults.isEmpty { return "No products.\n" }
    return shown + faults.map { "\(paint.red("wrong")) \(printable($0.failure.message))\n" }.joined()
  }
}

/// What the database knows of the products now.
struct ProductsApplyResponse: Sendable, Presentable {
  struct Line: Sendable {
    let product: String
    let off: [String]
    /// Whether it was something else before.
    let isNew: Bool
  }

  var lines: [Line] = []

  var json: JSONValue {
    [
      "products": .array(
        lines.map { line in
          [
            "product": .string(line.product), "off": .array(line.off.map(JSONValue.string)),
            "outcome": .string(line.isNew ? "applied" : "unchanged"),
          ]
        })
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !lines.isEmpty else { return "No products.\n" }
    return lines.map { line in
      let off = line.off.isEmpty ? "nothing" : line.off.joined(separator: ", ")
      return "\(line.isNew ? paint.green("applied") : "unchanged") \(line.product): \(off) is off\n"
    }.joined()
  }
}

extension Product {
  var offNames: [String] { Feature.allCases.filter { off[$0] != nil }.map(\.rawValue) }
}

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
