import CommandLineTool
import QueueTestSupport
import TestSupport
import Testing

@testable import ControlCommands

@Suite("analysisctl clinics, against a server")
struct ClinicsTests {
  @Test("add, assign and list; a second add changes nothing and is code 5")
  func add() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      #expect(await control("clinics").output == "No clinics.\n")
      #expect(await control("clinics", "add", "north").output == "added clinic north\n")
      #expect(await control("clinics", "add", "north").code == .nothingToDo)
      #expect(await control("clinics", "add", "").code == .usage)
      try await queue.addUser("u1")
      let assigned = await control("clinics", "assign", "u1", "north")
      #expect(assigned.code == .done && assigned.output == "clinic of u1: north\n")
      #expect(await control("users", "show", "u1").output.contains("clinic     north\n"))
      #expect(await control("clinics", "list").output == "CLINIC  USERS\nnorth       1\n")
      #expect(
        await control("clinics", "assign", "u1", "--none", "--json").output == #"{"user":"u1","clinic":null}"#
          + "\n")
      #expect(await !control("users", "show", "u1").output.contains("clinic"))
    }
  }

  @Test("what is unknown is refused with 4, what contradicts itself with 64")
  func unknown() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      #expect(await control("clinics", "assign", "u1", "north").code == .refused)
      #expect(await control("clinics", "assign", "u1", "--none").code == .refused)
      #expect(await control("clinics", "assign", "u1").code == .usage)
      #expect(await control("clinics", "grant", "analysis_worker", "north").code == .refused)
      #expect(await control("clinics", "grant", "analysis_worker").code == .usage)
      #expect(await control("clinics", "grant", "analysis_worker", "north", "--all").code == .usage)
      #expect(await control("clinics", "revoke", "analysis_worker").code == .usage)
      #expect(await control("clinics", "add", "north").code == .done)
      #expect(await control("clinics", "revoke", "analysis_worker", "north").code == .refused)
      let nobody = await control("clinics", "grant", "nobody_at_all", "north")
      #expect(nobody.code == .refused && nobody.messages.contains("there is no role nobody_at_all"))
    }
  }

  @Test("a role sees in users list the users of its clinics, from the first grant on until it is lifted")
  func grant() async throws {
    try await withQueue { (queue) async throws in
      let control = queue.control
      for user in ["n1", "s1", "x1"] { try await queue.addUser(user) }
      for (clinic, user) in [("north", "n1"), ("south", "s1")] {
        _ = await control("clinics", "add", clinic)
        _ = await control("clinics", "assign", user, clinic)
      }
      try await withLoginRole(on: queue.pool, named: "north", in: ["analysis_reporter"]) {
        (role) async throws in
        func users() async -> [String] {
          await queue.acting(as: role).control("users", "list").lines.dropFirst().map {
            String($0.prefix { $0 != " " })
          }
        }
        #expect(await users() == ["n1", "s1", "x1"])
        #expect(await control("clinics", "grant", role, "north").output == "role \(role) sees only north\n")
        #expect(await users() == ["n1"])
        let both = await control("clinics", "grant", role, "south", "--json")
        #expect(both.output == #"{"role":"\#(role)","restricted":true,"clinics":["north","south"]}"# + "\n")
        #expect(await control("clinics").output.hasSuffix("\(role)  north, south\n"))
        #expect(await users() == ["n1", "s1"])
        #expect(
          await control("clinics", "revoke", role, "north", "south").output.hasSuffix("sees only nobody\n"))
        #expect(await users() == [])
        #expect(await control("clinics", "grant", role, "--all").output == "role \(role) sees everybody\n")
        #expect(await users() == ["n1", "s1", "x1"])
        let told = try await queue.texts(
          "SELECT format('%s %s %s', action, os_user, object) FROM analysis.audit WHERE object LIKE 'role:%' ORDER BY id"
        )
        #expect(
          told
            == ["grant", "grant", "revoke", "lift"].map { "\($0)_clinics olga role:\(role)" })
      }
    }
  }

  @Test("a restricted role does not close a month: 77, and who has to")
  func closing() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("n1")
      _ = await queue.control("clinics", "add", "north")
      _ = await queue.control("clinics", "assign", "n1", "north")
      try await withLoginRole(on: queue.pool, named: "north", in: ["analysis_reporter"]) {
        (role) async throws in
        _ = await queue.control("clinics", "grant", role, "north")
        let restricted = queue.acting(as: role).control
        try await queue.execute(
          "INSERT INTO analysis.usage (shard, user_id, period) SELECT shard, user_id, 24288 FROM analysis.account"
        )
        for option in ["--yes", "--dry-run"] {
          let refused = await restricted("month", "close", "2024-01", option)
          #expect(refused.code == .permission)
          #expect(refused.messages.contains("cannot close 2024-01 for all"), "\(refused.messages)")
          #expect(refused.messages.contains("Let a role that is not restricted"), "\(refused.messages)")
        }
        #expect(await restricted("report", "usage", "--month", "2024-01").code == .done)
        #expect(await queue.control("month", "close", "2024-01", "--yes").code == .done)
        let closed = await restricted("report", "usage", "--month", "2024-01", "--json")
        #expect(closed.code == .done && closed.output.contains(#""state":"closed""#), "\(closed.output)")
        let months = await restricted("month")
        #expect(months.code == .done && months.output.contains("2024-01  closed"), "\(months.output)")
      }
    }
  }
}
