import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("Users and plans")
struct UserDirectoryTests {
  @Test("A user is added once and shown whole")
  func add() async throws {
    try await withQueue { queue async throws in
      let users = UserDirectory(queue.pool)
      let user = NewUser(
        reference: "clinic-7", plan: "free", zone: "Asia/Jakarta", name: "A Name", email: "a@example.org")
      let added = try await users.add(user)
      #expect(added.isNew)
      let again = try await users.add(NewUser(reference: "clinic-7", plan: "premium"))
      #expect(!again.isNew)
      #expect(again.userID == added.userID)

      let jobs = try await queue.submit(2, user: "clinic-7")
      let claimed = try await queue.claimJobs(count: 1)
      _ = try await queue.statements.complete(try claimed.map { try queue.completed($0) }).run(on: queue.pool)
      let detail = try #require(try await users.show("clinic-7"))
      #expect(detail.userID == added.userID)
      #expect(detail.zone == "Asia/Jakarta")
      #expect(detail.plan == "free")
      #expect(detail.planDisplayName == "Basic")
      #expect(detail.planHistory == [PlanEntry(plan: "free", from: nil)])
      #expect(detail.limit == 5)
      #expect((detail.used, detail.remaining, detail.analysed, detail.open) == (2, 3, 1, 1))
      #expect(detail.profile?.name == "A Name")
      #expect(detail.profile?.email == "a@example.org")

      _ = try await JobDirectory(queue.pool).change([jobs[1]], .cancel)
      let after = try #require(try await users.show("clinic-7"))
      #expect((after.used, after.refunded, after.open) == (1, 1, 0), "a pending refund counts as given back")
    }
  }

  @Test("A photo's address is set, listed by reference and removed, and shown by no description")
  func photos() async throws {
    try await withQueue { queue async throws in
      let users = UserDirectory(queue.pool)
      for reference in ["c", "a", "B", "d"] { _ = try await users.add(NewUser(reference: reference)) }
      #expect(try await users.photos() == [])
      for reference in ["c", "a", "B"] {
        try await users.setPhoto(reference, url: "https://x/SECRET-\(reference)")
      }
      #expect(try await users.photos().map(\.reference) == ["B", "a", "c"])
      #expect(try await users.photos(after: "B", limit: 1).map(\.url) == ["https://x/SECRET-a"])
      #expect(try await users.show("a")?.profile?.photoURL == "https://x/SECRET-a")
      try await users.setPhoto("a", url: nil)
      #expect(try await users.photos().map(\.reference) == ["B", "c"])
      #expect(try await users.show("a")?.profile?.photoURL == nil)
      #expect(!"\(try await users.photos())".contains("SECRET"))

      let nobody = await #expect(throws: JobQueueError.self) { try await users.setPhoto("nobody", url: nil) }
      #expect(nobody?.code == .notFound)
      let long = String(repeating: "x", count: 2001)
      let refused = await #expect(throws: JobQueueError.self) { try await users.setPhoto("a", url: long) }
      #expect(refused?.code == .invalid)
    }
  }

  @Test("An imported profile brings its photo, and one without leaves it")
  func importedPhoto() async throws {
    try await withQueue { queue async throws in
      let users = UserDirectory(queue.pool)
      var photo = UserRecord("a")
      photo.photoURL = "https://x/1"
      var name = UserRecord("a")
      name.name = "N"
      #expect(try await users.take([photo, UserRecord("b"), name]).map(\.isNew) == [true, true, false])
      #expect(try await users.photos() == [UserPhoto(reference: "a", url: "https://x/1")])
    }
  }

  @Test("An unknown user, plan or zone is refused in words")
  func refused() async throws {
    try await withQueue { queue async throws in
      let users = UserDirectory(queue.pool)
      #expect(try await users.show("nobody") == nil)
      let plan = await #expect(throws: JobQueueError.self) {
        try await users.add(NewUser(reference: "a", plan: "gold"))
      }
      #expect(plan?.code == .notFound)
      #expect(plan?.description.contains("free, premium") == true)
      let zone = await #expect(throws: JobQueueError.self) {
        try await users.add(NewUser(reference: "a", zone: "Mars/Olympus"))
      }
      #expect(zone?.code == .invalid)
      let user = await #expect(throws: JobQueueError.self) { try await users.setPlan("nobody", plan: "free") }
      #expect(user?.code == .notFound)
      let long = await #expect(throws: JobQueueError.self) {
        try await users.add(NewUser(reference: String(repeating: "x", count: 201)))
      }
      #expect(long?.code == .invalid)
      #expect(try await queue.number("SELECT count(*) FROM analysis.account") == 0)
    }
  }

  @Test(
    "A reference that holds what cannot be seen, or turns text round, is refused, by the server too",
    arguments: HostileText.all)
  func hostile(text: HostileText) async throws {
    try await withQueue { queue async throws in
      for reference in text.characters.unicodeScalars.map({ "a\($0)b" }) {
        let refused = await #expect(throws: JobQueueError.self) {
          try await UserDirectory(queue.pool).add(NewUser(reference: reference))
        }
        #expect(refused?.code == .invalid)
        #expect(refused?.message.contains("cannot be seen") == true)
        let clinic = await #expect(throws: JobQueueError.self) {
          try await ClinicDirectory(queue.pool).add(reference)
        }
        #expect(clinic?.code == .invalid)
        // Which characters are assigned is a matter of Unicode's version; the server's list leaves it out.
        guard reference.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .unassigned }) else {
          continue
        }
        let server = await #expect(throws: PostgreSQLError.self) {
          try await queue.pool.query(
            "SELECT analysis.add_user(0::smallint, $1, NULL, NULL, NULL, NULL)", [.text(reference)])
        }
        #expect(server?.sqlState == "22023")
      }
      #expect(try await queue.number("SELECT count(*) FROM analysis.account") == 0)
    }
  }

  @Test("The server's list of characters that cannot be seen is the program's")
  func sameList() async throws {
    try await withQueue { queue async throws in
      let hidden = try await queue.pool.query(
        """
        SELECT array_agg(n)
        FROM (SELECT generate_series(1, 55295) UNION ALL SELECT generate_series(57344, 1114111)) s (n)
        WHERE chr(n) ~ analysis.hidden_characters()
        """
      ).single().array(0, of: Int32.self)
      let server = Set(hidden.compactMap { Unicode.Scalar(UInt32($0)) })
      let differing = (1...0x10FFFF as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init).filter {
        $0.properties.generalCategory != .unassigned && $0.isPrintable == server.contains($0)
      }
      #expect(differing.map { String($0.value, radix: 16) } == [])
    }
  }

  @Test("A plan is changed now or from a later time, and the zone for jobs to come")
  func change() async throws {
    try await withQueue { queue async throws in
      let users = UserDirectory(queue.pool)
      try await queue.addUser("clinic", plan: "free")
      let later = Double(try await queue.number("SELECT extract(epoch FROM now())::int") + 86_400)
      try await users.setPlan("clinic", plan: "premium", from: later)
      #expect(try await users.show("clinic")?.plan == "free")
      try await users.setPlan("clinic", plan: "premium")
      let detail = try #require(try await users.show("clinic"))
      #expect(detail.plan == "premium")
      #expect(detail.limit == nil)
      #expect(detail.remaining == nil)
      #expect(detail.planHistory.map(\.plan) == ["free", "premium", "premium"])
      #expect(detail.planHistory.last?.from == later)
      try await users.setZone("clinic", zone: "America/New_York")
      #expect(try await users.show("clinic")?.zone == "America/New_York")
      await #expect(throws: JobQueueError.self) { try await users.setZone("nobody", zone: "UTC") }
      await #expect(throws: JobQueueError.self) { try await users.setZone("clinic", zone: "UTC+3") }
    }
  }

  @Test("Users are listed page by page")
  func list() async throws {
    try await withQueue { queue async throws in
      let users = UserDirectory(queue.pool)
      for name in ["b", "Z", "a", "ä", "c"] { try await queue.addUser(name) }
      let first = try await users.list(limit: 3)
      #expect(first.map(\.reference) == ["Z", "a", "b"])
      let rest = try await users.list(after: first.last?.reference, limit: 3)
      #expect(rest.map(\.reference) == ["c", "ä"])
      #expect(rest.first?.plan == "premium")
    }
  }

  @Test("Plans are listed with their limits, and a limit holds from its date on")
  func plans() async throws {
    try await withQueue { queue async throws in
      let plans = PlanDirectory(queue.pool)
      let later = Double(try await queue.number("SELECT extract(epoch FROM now())::int") + 86_400)
      try await plans.setLimit(plan: "free", limit: 2)
      try await plans.setLimit(plan: "free", limit: 9, from: later)
      let list = try await plans.list()
      #expect(list.map(\.name) == ["free", "premium"])
      #expect(list[0].displayName == "Basic")
      #expect(list[0].limits.map(\.monthly) == [5, 2, 9])
      #expect(list[0].limits.first?.from == nil)
      #expect(list[0].current?.monthly == 2)
      #expect(list[1].current?.monthly == nil)
      let unknown = await #expect(throws: JobQueueError.self) {
        try await plans.setLimit(plan: "gold", limit: 1)
      }
      #expect(unknown?.code == .notFound)
      let negative = await #expect(throws: JobQueueError.self) {
        try await plans.setLimit(plan: "free", limit: -1)
      }
      #expect(negative?.code == .invalid)
    }
  }

  @Test("Profile answers are imported: new users, changed plans, and one bad answer stops no other")
  func importing() async throws {
    try await withQueue { queue async throws in
      let users = UserDirectory(queue.pool)
      try await queue.addUser("2", plan: "free")
      let answers = try ProfileAnswer.parse(
        Array(
          """
          [{"id": "1", "email": "one@example.org", "name": "One", "subscription": "premium", "analysisCount": 3},
           {"id": "2", "name": "Two", "subscription": "premium", "lastResetDate": "2023-11-14T22:13:20.25Z"},
           {"id": "3", "subscription": "platinum"}, {"id": "4"}]
          """.utf8))
      let outcomes = try await users.take(answers)
      #expect(outcomes[0] == .created)
      #expect(
        outcomes[1]
          == .updated([
            UserChange(field: "plan", was: "free", becomes: "premium"),
            UserChange(field: "name", was: nil, becomes: "Two"),
            UserChange(field: "subscription", was: nil, becomes: "premium"),
            UserChange(field: "last_reset", was: nil, becomes: "2023-11-14T22:13:20Z"),
          ]))
      guard case .refused(let reason) = outcomes[2] else {
        Issue.record("an unknown subscription is refused, not taken for free")
        return
      }
      #expect(reason.contains("platinum"))
      #expect(outcomes[3] == .created)
      #expect(try await users.show("1")?.profile?.endpointCount == 3)
      #expect(try await users.show("2")?.plan == "premium")
      #expect(try await users.show("2")?.profile?.lastReset == 1_700_000_000.25)
      #expect(try await users.show("3") == nil)

      var same = UserRecord("1")
      same.plan = "premium"
      #expect(try await users.take([same]) == [.unchanged])
      let again = try #require(try await users.show("1"))
      #expect(again.planHistory.count == 1, "the same answer again writes no history")
      #expect(again.profile?.name == "One", "what an answer leaves out stays")
    }
  }
}

extension UserOutcome {
  fileprivate var isNew: Bool { self == .created }
}
