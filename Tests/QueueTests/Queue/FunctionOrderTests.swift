import Testing

@testable import Queue

@Suite("The order of the functions")
struct FunctionOrderTests {
  private static let groups = MigrationSource.embedded.functions

  @Test("is that of the numbered folders, and the rights come last, when all functions are there")
  func folders() {
    var folders: [String] = []
    for group in Self.groups {
      let folder = String(group.name.prefix { $0 != "/" })
      #expect(group.name.split(separator: "/").count == 2, "\(group.name) is in no folder of a subject")
      if folders.last != folder { folders.append(folder) }
    }
    #expect(
      folders == [
        "10_calendar", "20_values", "30_audit", "40_users", "50_queue", "60_jobs", "70_reports", "80_removal",
        "90_rights",
      ])
    #expect(Self.groups.last?.name == "90_rights/rights")
  }

  @Test("has every function and view that the server checks when it is made behind those that it calls")
  func calls() {
    let statements = Self.groups.flatMap { group in
      group.text.split(separator: "\nCREATE ").map { (group: group.name, text: "CREATE " + $0) }
    }
    let creation = #/^CREATE (?:OR REPLACE )?(?:FUNCTION|VIEW) analysis\.(\w+)/#
    let all = Set(statements.compactMap { $0.text.firstMatch(of: creation).map { String($0.output.1) } })
    var made: Set<String> = []
    var checked = 0
    for (group, text) in statements {
      guard let name = text.firstMatch(of: creation).map({ String($0.output.1) }) else { continue }
      made.insert(name)
      // The server looks into no other body before it is run.
      guard text.contains("LANGUAGE sql") || text.contains(" VIEW ") else { continue }
      let code = text.split(separator: "\n").map {
        $0.prefix(upTo: $0.firstRange(of: "--")?.lowerBound ?? $0.endIndex)
      }
      for call in code.joined(separator: "\n").matches(of: #/analysis\.(\w+)\(/#) {
        let called = String(call.output.1)
        guard all.contains(called) else { continue }
        checked += 1
        #expect(made.contains(called), "\(name) of \(group) calls \(called), which is made later")
      }
    }
    #expect(checked > 20)
  }
}
