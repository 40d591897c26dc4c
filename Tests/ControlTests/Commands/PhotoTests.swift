import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("analysisctl users set-photo and prefetch-photos, against a server")
struct PhotoTests {
  @Test("a photo's address is set, shown by its host alone, and removed")
  func set() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      var control = queue.control
      let hosts = ["--url-hosts", "*.example.org"]
      let secret = "https://img.example.org/private/u1.jpg?key=SECRET"
      let set = await control.run(["users", "set-photo", "u1", secret] + hosts)
      #expect(set.code == .done)
      #expect(set.output == "photo of u1: img.example.org\n")
      #expect(set.messages.contains("Nobody has looked whether it is a picture"), "\(set.messages)")
      let shown = await control("users", "show", "u1")
      #expect(shown.output.contains("photo on   img.example.org\n"))
      let json = await control("users", "show", "u1", "--json")
      #expect(json.output.contains(#""photo_host":"img.example.org""#))
      #expect(!(shown.output + json.output).contains("SECRET") && !json.output.contains("private"))
      let stored = "SELECT coalesce(photo_url, 'none') FROM analysis.profile"
      #expect(try await queue.texts(stored) == [secret])
      control.input = Array("  https://b.example.org/2.jpg\n".utf8)
      #expect(await control.run(["users", "set-photo", "u1", "-"] + hosts).code == .done)
      #expect(try await queue.texts(stored) == ["https://b.example.org/2.jpg"])
      #expect(await control("users", "set-photo", "u1", "--remove").output == "photo of u1: none\n")
      #expect(try await queue.texts(stored) == ["none"])
    }
  }

  @Test(
    "a photo may be given by its name below the base, also by the answer to a log-in; show says what stands for whom"
  )
  func named() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      var control = queue.control
      let hosts = ["--url-hosts", "img.example.org"]
      let base = hosts + ["--photo-base", "https://img.example.org/photos"]
      func picture(_ user: String) async -> String? {
        await control("users", "show", user).lines.first { $0.hasPrefix("picture") }
          .map { String($0.dropFirst(7).drop { $0 == " " }) }
      }
      #expect(await picture("u1") == "initials U")
      _ = await control("clinics", "add", "north", "--kind", "both")
      _ = await control("clinics", "assign", "u1", "north")
      #expect(await picture("u1") == "initials U")
      let logo = "E'\\\\xffd8ffc0000b080010002001ffd9'::bytea"
      try await queue.execute("SELECT analysis.set_clinic('north', NULL, NULL, NULL, NULL, \(logo))")
      #expect(await picture("u1") == "logo of pharmacy north")
      // A pharmacy has one logo, whichever of the two options gave it.
      try await queue.addUser("u2")
      _ = await control("clinics", "add", "south", "--kind", "pharmacy")
      _ = await control("clinics", "assign", "u2", "south")
      try await queue.execute("SELECT analysis.set_clinic('south', NULL, NULL, NULL, \(logo), NULL)")
      #expect(await picture("u2") == "logo of pharmacy south")
      let name = "demoK25_2025-06-24_11:41:27.png"
      #expect(
        await control.run(["users", "set-photo", "u1", name] + base).output
          == "photo of u1: img.example.org\n")
      #expect(await picture("u1") == "own photo on img.example.org")
      #expect(
        await control("users", "show", "u1", "--json").output.contains(
          #""picture":{"of":"photo","host":"img.example.org"}"#))
      for (name, options, words) in [
        (name, hosts, "there is no --photo-base"), ("../SECRET", base, "has a part that is empty, . or .."),
        (name, ["--url-hosts", "x.org", "--photo-base", "https://img.example.org/"], "is not among"),
      ] {
        let refused = await control.run(["users", "set-photo", "u1", name] + options)
        #expect(refused.code == .refused && refused.messages.contains(words), "\(refused.messages)")
        #expect(!refused.messages.contains("SECRET"))
      }
      #expect(
        await control.run(["users", "set-photo", "u1", "x", "--photo-base", "http://x.org"]).code == .usage)

      control.input = Array(
        """
        {"status": "success", "data": {"id": 1413, "logo": "\(name)", "kl_logo": "logo_304.png", "app_jenis": 3,
          "nama_lengkap": "ahmad fadil", "kl_nama": "[Demo] APT Test MB"}}
        """.utf8)
      let imported = await control.run(["users", "import"] + hosts)
      #expect(imported.output == "created 1413\n")
      // Of the clinic nothing is taken, and that is said.
      #expect(
        imported.messages.hasPrefix(
          "Not taken: app_jenis, kl_logo, kl_nama, of 1 user. Make the clinic with analysisctl clinics add"))
      #expect(
        await control.run(["users", "import", "--json"] + hosts).output.contains(
          #""not_taken":["kl_nama","kl_logo","app_jenis"]"#))
      #expect(await picture("1413") == "initials AF")
      #expect(await control.run(["users", "import"] + base).output == "updated 1413\n")
      #expect(await picture("1413") == "own photo on img.example.org")
      #expect(
        try await queue.texts("SELECT DISTINCT photo_url FROM analysis.profile WHERE photo_url IS NOT NULL")
          == ["https://img.example.org:443/photos/demoK25_2025-06-24_11%3A41%3A27.png"])
      control.input = Array(#"{"id": "1413", "logo": "../SECRET"}"#.utf8)
      let refused = await control.run(["users", "import"] + base)
      #expect(refused.output == "refused 1413: Photo: Its name has a part that is empty, . or ...\n")
    }
  }

  @Test("an address elsewhere, and an unknown user, are refused with code 4")
  func refused() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("u1")
      let hosts = ["--url-hosts", "img.example.org"]
      for (user, url) in [
        ("u1", "https://evil.org/SECRET"), ("u1", "http://img.example.org/SECRET"), ("u1", "SECRET"),
        ("nobody", "https://img.example.org/SECRET"),
      ] {
        let ran = await queue.control.run(["users", "set-photo", user, url] + hosts)
        #expect(ran.code == .refused)
        #expect(!ran.messages.contains("SECRET"))
      }
      let long = "https://img.example.org/" + String(repeating: "a", count: 2000)
      #expect(await queue.control.run(["users", "set-photo", "u1", long] + hosts).code == .usage)
      #expect(
        try await queue.number("SELECT count(*)::int FROM analysis.profile WHERE photo_url IS NOT NULL")
          == 0)
    }
  }

  @Test("an import takes photos over where their host is allowed, and passes them over where none is")
  func imported() async throws {
    try await withQueue { (queue) async throws in
      var control = queue.control
      control.input = Array(
        """
        {"id": "u1", "photoUrl": "https://img.example.org/1.jpg"}
        {"id": "u2", "photoUrl": "https://evil.org/SECRET"}
        {"id": "u3", "photoUrl": ""}
        """.utf8)
      let off = await control("users", "import")
      #expect(off.code == .done)
      #expect(try await queue.number("SELECT count(photo_url)::int FROM analysis.profile") == 0)
      let ran = await control("users", "import", "--url-hosts", "img.example.org")
      #expect(ran.code == .refused)
      #expect(ran.lines[0] == "updated u1")
      #expect(ran.lines[1].hasPrefix("refused u2: Photo: The host evil.org at port 443 is not among"))
      #expect(ran.lines[2] == "unchanged u3")
      #expect(!(ran.output + ran.messages).contains("SECRET"))
      #expect(
        try await queue.texts("SELECT photo_url FROM analysis.profile WHERE photo_url IS NOT NULL")
          == ["https://img.example.org/1.jpg"])
      // What is imported without a photo leaves the photo.
      control.input = Array(#"{"id": "u1"}"#.utf8)
      #expect(await control("users", "import", "--url-hosts", "img.example.org").code == .done)
      #expect(try await queue.number("SELECT count(photo_url)::int FROM analysis.profile") == 1)
    }
  }

  @Test(
    "a photo that takes the place of another, also under the same address, is fetched anew into the cache")
  func refreshed() async throws {
    try await withQueue { (queue) async throws in
      let (server, files) = (try ImageServer(), try TemporaryFolder())
      var control = queue.control
      control.network = server.network
      #expect(await control("keys", "new", "--key-file", files.path("image.keys")).code == .done)
      let options = [
        "--url-hosts", server.host, "--url-cache", files.path("photos"), "--key-file",
        files.path("image.keys"),
      ]
      try await queue.addUser("u1")
      let set = ["users", "set-photo", "u1", server.url("/1.png"), "--json"] + options
      let created = await control.run(set)
      #expect(created.code == .done && created.output.contains(#""outcome":"created","copy":"fetched""#))
      #expect(server.targets == ["/1.png"])
      let replaced = await control.run(set)
      #expect(replaced.output.contains(#""outcome":"replaced","copy":"fetched""#), "\(replaced.messages)")
      #expect(server.targets == ["/1.png", "/1.png"])
      let prefetch = await control.run(["users", "prefetch-photos"] + options)
      #expect(prefetch.code == .done && server.targets.count == 2, "the copy is there")
      // A page of the web is no photo: it is set all the same, no copy stays, and the code says so.
      let page = await control.run(["users", "set-photo", "u1", server.url("/text.png")] + options)
      #expect(page.code == .refused)
      #expect(page.output.contains("What is there is no picture."), "\(page.output) \(page.messages)")
      #expect(await control.run(set).code == .done)
      // By the other command that sets it; what cannot be fetched is set all the same.
      let broken = await control.run(
        ["account", "profile", "--user", "u1", "--photo", server.url("/missing.png?SECRET")] + options)
      #expect(broken.code == .refused)
      #expect(broken.output.contains("not fetched into the folder of --url-cache: The host img.example.org"))
      #expect(!(broken.output + broken.messages).contains("SECRET"))
      #expect(try await queue.texts("SELECT photo_url FROM analysis.profile")[0].contains("SECRET"))
      let removed = await control.run(
        ["account", "profile", "--user", "u1", "--remove-photo", "--json"] + options)
      #expect(removed.output.contains(#""photo":"none","from":null,"outcome":"removed","copy":null"#))
    }
  }

  @Test("a page of photos is fetched once; what fails is told apart, code 4; without photos code 5")
  func prefetch() async throws {
    try await withQueue { (queue) async throws in
      let (server, files) = (try ImageServer(), try TemporaryFolder())
      var control = queue.control
      control.network = server.network
      #expect(await control("keys", "new", "--key-file", files.path("image.keys")).code == .done)
      let options = [
        "--url-hosts", server.host, "--url-cache", files.path("photos"), "--key-file",
        files.path("image.keys"),
      ]
      let prefetch = ["users", "prefetch-photos"] + options
      let nothing = await control.run(prefetch)
      #expect(nothing.code == .nothingToDo)
      #expect(nothing.output == "No photos.\n")
      for (user, path) in [
        ("u1", "/1.png"), ("u2", "/missing.png?SECRET"), ("u3", "/3.png"), ("u4", "/4.png"),
      ] {
        try await queue.addUser(user)
        // As if set when another network was allowed: what is fetched is judged again.
        _ = try await queue.pool.query(
          "UPDATE analysis.profile SET photo_url = $1 WHERE user_id = (SELECT user_id FROM analysis.account WHERE user_ref = $2)",
          [.text(server.url(path)), .text(user)])
      }
      try await queue.addUser("u5")
      let first = await control.run(prefetch + ["--limit", "3"])
      #expect(first.code == .refused)
      #expect(first.lines[0] == "ready u1")
      #expect(first.lines[1].hasPrefix("failed u2: The host img.example.org answers with status 404"))
      #expect(first.lines[2] == "ready u3")
      #expect(first.messages == "There may be more: --after u3\n")
      let second = await control.run(prefetch + ["--after", "u3", "--json"])
      #expect(second.code == .done)
      #expect(
        second.output
          == #"{"photos":[{"user":"u4","outcome":"ready","reason":null,"message":null}],"next":null}"# + "\n")
      #expect(server.targets.count == 4)
      #expect(await control.run(prefetch).code == .refused)
      #expect(server.targets.count == 5, "only what was missing is asked for again")
      // What a back-end stored by its name is below the base, as for the commands that set photos.
      try await queue.execute(
        """
        UPDATE analysis.profile SET photo_url = NULL;
        UPDATE analysis.profile SET photo_url = '5.png'
          WHERE user_id = (SELECT user_id FROM analysis.account WHERE user_ref = 'u5')
        """)
      #expect(await control.run(prefetch).code == .refused)
      let named = await control.run(prefetch + ["--photo-base", "https://\(server.host)/photos"])
      #expect(named.output.hasPrefix("failed u5: ") && !named.output.contains("cannot be read"))
      #expect(!(first.output + first.messages + second.output).contains("SECRET"))
    }
  }
}
