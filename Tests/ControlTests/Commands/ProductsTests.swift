import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

@Suite("Products, against a server")
struct ProductsTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write(
      """
      # Klinik Biru
      name = Klinik Biru
      accent = "#0b57a4"
      accent-dark = "#7ab8ff"
      logo = blue.png
      webhooks = off
      images-by-url = off
      """, to: "products/blue.conf")
    try folder.write("name = Plain\nstatements = off\n", to: "products/plain.conf")
    try folder.write(TinyPicture.noise(side: 60), to: "products/blue.png")
    try folder.write(TinyPicture.png(), to: "outside.png")
  }

  private var products: [String] { ["--products", folder.path("products")] }

  @Test("list shows them, check says of each file what is wrong with it and where")
  func check() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      let listed = await control.run(["products", "list"] + products)
      #expect(
        listed.output == """
          PRODUCT  NAME         ACCENT   DARK     LOGO  OFF
          blue     Klinik Biru  #0b57a4  #7ab8ff  yes   webhooks, images-by-url
          plain    Plain        -        -        no    statements

          """, "\(listed.output) \(listed.messages)")
      #expect(await control.run(["products", "check"] + products).code == .done)
      #expect(await control("products", "list").code == .usage)
      #expect(await control("products", "list", "--products", folder.path("none")).code == .unreadableInput)

      try FileManager.default.createSymbolicLink(
        atPath: folder.path("products/link.png"), withDestinationPath: folder.path("outside.png"))
      let accents = "accent = \"#0b57a4\"\naccent-dark = \"#7ab8ff\"\n"
      let faults: [(String, String)] = [
        ("name = X\nwebhook = off", ":2: unknown key 'webhook'; did you mean 'webhooks'?"),
        ("name = X\nname = Y", ":2: 'name' already stands in line 1"),
        ("webhooks = on", "name is missing"),
        ("name = X\n\nstatements = no", ":3: statements is neither on nor off"),
        ("name = X\ntax-number = 1", ":2: tax-number needs issuer, the name of who bills"),
        ("name = X\nissuer = Y\npayment-days = 400", ":3: payment-days is a whole number from 0 to 365"),
        (
          "name = X\naccent = blue\naccent-dark = \"#7ab8ff\"",
          ":2: accent is not a colour; write \"#rrggbb\" in quotes"
        ),
        (
          "name = X\naccent = \"#777777\"\naccent-dark = \"#7ab8ff\"",
          ":2: accent #777777 has a contrast of 4.09 to 1 with #f3f5f7, on which it stands; at least 4.5 to 1 is needed"
        ),
        (
          "name = X\naccent = \"#0b57a4\"\naccent-dark = \"#0b57a4\"",
          ":3: accent-dark #0b57a4 has a contrast of 2."
        ),
        ("name = X\naccent = \"#0b57a4\"", ":2: accent needs accent-dark"),
        ("name = X\naccent-dark = \"#7ab8ff\"", ":2: accent-dark needs accent"),
        (
          "name = X\n\(accents)logo = ../outside.png",
          ":4: the logo does not lie in the folder of the products"
        ),
        ("name = X\nlogo = \(folder.path("outside.png"))", ":2: the logo does not lie in the folder"),
        ("name = X\nlogo = link.png", ":2: the logo does not lie in the folder"),
        (
          "name = X\nlogo = none.png",
          ":2: the logo does not lie in the folder of the products, or is not there"
        ),
        ("name = X\nlogo = plain.conf", "plain.conf is no logo. The file is"),
        ("name = a\u{202E}b", ":1: name has 1 to 100 characters"),
      ]
      for (text, words) in faults {
        try folder.write(text, to: "products/wrong.conf")
        let checked = await control.run(["products", "check"] + products)
        #expect(checked.code == .jobFailed && checked.output.contains(words), "\(text): \(checked.output)")
        #expect(checked.output.contains("Klinik Biru"))
        #expect(await control.run(["products", "list"] + products).code != .done)
      }
      // A program that would run as one that is wrong does nothing.
      let wrong = await control.run(["clinics", "add", "north", "--as-product", "wrong"] + products)
      #expect(wrong.code == .usage && wrong.messages.contains("wrong.conf:1: name has"), "\(wrong.messages)")
      #expect(try await queue.count("clinic") == 0)
      for id in ["../plain", "Plain", "", "-x"] {
        #expect(await control.run(["clinics", "--as-product=\(id)"] + products).code == .usage, "\(id)")
      }
      #expect(await control.run(["clinics", "--as-product", "none"] + products).code == .unreadableInput)
      #expect(await control("clinics", "--as-product", "blue").code == .usage)
    }
  }

  @Test("a feature that is off is refused by name, by the program's product and by the clinic's")
  func features() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      try await queue.addUser("u1")
      _ = await control("clinics", "add", "north")
      _ = await control("clinics", "assign", "u1", "north")
      let keys = ["--key-file", folder.path("image.keys")]
      #expect(await control.run(["keys", "new"] + keys).code == .done)
      func refused(_ arguments: [String], _ feature: String, _ product: String, line: Int) async {
        let ran = await control.run(arguments + products)
        let path = folder.path("products/\(product).conf")
        #expect(
          ran.code == .refused
            && ran.messages.contains("\(feature) is off in product \(product), by line \(line) of \(path)"),
          "\(arguments): \(ran.output) \(ran.messages)")
      }
      let (blue, plain) = (["--as-product", "blue"], ["--as-product", "plain"])
      let add = ["webhooks", "add", "https://r.example.org/"] + keys
      for words in [["list"], ["test", "W1"], ["remove", "W1", "--yes"], ["replay", "W1", "--failed"]] {
        await refused(["webhooks"] + words + blue, "webhooks", "blue", line: 6)
      }
      await refused(add + ["--user", "u1"] + blue, "webhooks", "blue", line: 6)
      let hosts = ["--url-hosts", "img.example.org"]
      await refused(
        ["users", "set-photo", "u1", "https://img.example.org/1"] + hosts + blue, "images-by-url", "blue",
        line: 7)
      await refused(
        ["users", "prefetch-photos", "--url-cache", folder.path("cache")] + keys + hosts + blue,
        "images-by-url",
        "blue", line: 7)
      await refused(
        ["submit", "--user", "u1", "--type", "ear", "--url", "https://img.example.org/1"] + hosts + blue,
        "images-by-url", "blue", line: 7)
      await refused(["statement", "--user", "u1"] + plain, "statements", "plain", line: 2)
      #expect(await control.run(["users", "set-photo", "u1", "--remove"] + blue + products).code == .done)

      // The clinic's own product counts too, whatever the program runs as.
      #expect(await control.run(add + ["--user", "u1"] + products + plain).code == .done)
      _ = await control("clinics", "set", "north", "--product", "blue")
      await refused(add + ["--clinic", "north"], "webhooks", "blue", line: 6)
      await refused(add + ["--user", "u1"], "webhooks", "blue", line: 6)
      await refused(
        ["users", "set-photo", "u1", "https://img.example.org/1"] + hosts, "images-by-url", "blue", line: 7)
      await refused(
        ["account", "profile", "--user", "u1", "--photo", "https://img.example.org/1"] + hosts,
        "images-by-url", "blue", line: 7)
      #expect(await control.run(["users", "set-photo", "u1", "--remove"] + products).code == .done)
      await refused(["webhooks", "test", "W1", "--timeout", "0s"], "webhooks", "blue", line: 6)
      await refused(["webhooks", "remove", "W1", "--yes"], "webhooks", "blue", line: 6)
      _ = await control("clinics", "set", "north", "--product", "plain")
      await refused(
        ["statement", "--clinic", "north", "--month", "current", "--out", folder.path("x.html")],
        "statements",
        "plain", line: 2)
      #expect(!FileManager.default.fileExists(atPath: folder.path("x.html")))
    }
  }

  @Test("what a clinic's product switches off the database refuses too, whoever asks")
  func applied() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      for user in ["u1", "u2"] { try await queue.addUser(user) }
      _ = await control("clinics", "add", "north")
      _ = await control("clinics", "assign", "u1", "north")
      func share() async throws -> String {
        try await queue.text(
          "SELECT analysis.request_share(s.shard, 'u1', NULL, c.shard, 'u2', NULL)::text "
            + "FROM (SELECT analysis.shard_of('u1') AS shard) s, (SELECT analysis.shard_of('u2') AS shard) c")
      }
      try folder.write("name = Plain\nsharing = off\nreviews = off\n", to: "products/plain.conf")
      #expect(await control.run(["clinics", "set", "north", "--product", "plain"] + products).code == .done)
      await #expect(throws: (any Error).self) { try await share() }
      let refused = await control("share", "request", "u1", "--carer", "u2")
      #expect(
        refused.code == .refused
          && refused.messages.contains("the clinic's product plain has switched sharing off"),
        "\(refused.messages)")
      try folder.write("name = Plain\nreviews = off\n", to: "products/plain.conf")
      let applied = await control.run(["products", "apply"] + products)
      #expect(applied.code == .done, "\(applied.messages)")
      #expect(applied.lines.contains("applied plain: reviews is off"), "\(applied.output)")
      #expect(await control.run(["products", "apply"] + products).code == .nothingToDo)
      _ = try await share()
      #expect(try await queue.entries().count { $0.action == "set_product" } == 3)
      try folder.write("name = Plain\nreviews = maybe\n", to: "products/plain.conf")
      #expect(await control.run(["products", "apply"] + products).code == .usage)
      // A clinic gets no product whose file is wrong.
      #expect(await control.run(["clinics", "set", "north", "--product", "plain"] + products).code == .usage)
    }
  }

  @Test("reviews and webhooks that a clinic's product has off the database refuses, of its users alone")
  func appliedToReviewsAndWebhooks() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      for user in ["u1", "u2"] { try await queue.addUser(user) }
      _ = await control("clinics", "add", "north")
      _ = await control("clinics", "assign", "u1", "north")
      let jobs = try await queue.create([Ask("u1"), Ask("u2")])
      _ = try await queue.complete(try await queue.claim())
      func review(_ user: Int) async throws {
        try await queue.execute(
          "SELECT analysis.add_review(0::smallint, \(jobs[user - 1]), 'agree', NULL, NULL)")
      }
      func hook(of user: String?) async throws {
        _ = try await queue.pool.query(
          """
          SELECT analysis.add_webhook(
            CASE WHEN $1::text IS NOT NULL THEN 0::smallint END, $1, CASE WHEN $1 IS NULL THEN 'north' END,
            'https://r.example.org/', decode(repeat('07', 150), 'hex'), false, false)
          """, [.text(user)])
      }
      func refuses(_ feature: String, _ call: () async throws -> Void) async throws {
        let refused = try await #require(throws: PostgreSQLError.self) { try await call() }
        #expect(refused.message.contains("the clinic's product plain has switched \(feature) off"))
      }
      try folder.write("name = Plain\nreviews = off\nwebhooks = off\n", to: "products/plain.conf")
      #expect(await control.run(["clinics", "set", "north", "--product", "plain"] + products).code == .done)
      try await refuses("reviews") { try await review(1) }
      try await refuses("webhooks") { try await hook(of: "u1") }
      try await refuses("webhooks") { try await hook(of: nil) }
      try await review(2)
      try await hook(of: "u2")
      try folder.write("name = Plain\n", to: "products/plain.conf")
      #expect(await control.run(["products", "apply"] + products).code == .done)
      try await review(1)
      try await hook(of: "u1")
      try await hook(of: nil)
    }
  }

  @Test("a clinic's statement has its product's name and colour, and its logo where the clinic has none")
  func statement() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      try await queue.addUser("u1")
      _ = await control("clinics", "add", "north")
      _ = await control("clinics", "assign", "u1", "north")
      _ = await control("clinics", "set", "north", "--product", "blue")
      func page(_ name: String, _ options: [String]) async throws -> String {
        let path = folder.path(name)
        let ran = await control.run(
          ["statement", "--clinic", "north", "--month", "current", "--out", path] + options)
        #expect(ran.code == .done, "\(ran.messages)")
        return try String(contentsOfFile: path, encoding: .utf8)
      }
      let branded = try await page("1.html", products)
      #expect(branded.contains("<dt>Product</dt><dd>Klinik Biru</dd>"))
      #expect(branded.contains(":root { --link: #0b57a4; }") && branded.contains("data:image/jpeg;base64,"))
      #expect(branded.contains("width=\"96\" height=\"96\""))
      let issuer = "\nissuer = PT Biru\nissuer-address = \"1 Way; Town\"\n"
      try folder.write(folder.text("products/blue.conf") + issuer, to: "products/blue.conf")
      let billed = try await page("4.html", products)
      #expect(billed.contains("<dt>Issuer</dt><dd>PT Biru<br/>1 Way<br/>Town</dd>"))
      let own = folder.path("outside.png")
      _ = await control("clinics", "set", "north", "--logo", own)
      #expect(try await page("2.html", products).contains("width=\"32\" height=\"32\""))
      #expect(try await !page("3.html", []).contains("Klinik Biru"))
      let path = folder.path("1.pdf")
      #expect(
        await control.run(["statement", "--clinic", "north", "--month", "current", "--out", path] + products)
          .code
          == .done)
    }
  }
}
