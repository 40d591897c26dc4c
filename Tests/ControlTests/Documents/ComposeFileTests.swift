import Foundation
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control

@Suite("What docker-compose.yml runs")
struct ComposeFileTests {
  private static let python = ProcessInfo.processInfo.environment["ANALYSIS_PYTHON"]

  private struct Service: Decodable {
    let name: String
    let profiles: [String]
    let command: [String]
  }

  private static func services() async throws -> [Service] {
    let script = """
      import json, sys, yaml
      services = yaml.safe_load(open(sys.argv[1]))['services']
      print(json.dumps([{'name': name, 'profiles': s.get('profiles', []), 'command': s.get('command', [])}
                        for name, s in services.items()]))
      """
    let output = try await HelperProgram.output(
      try #require(python), ["-c", script, packagePath("docker-compose.yml")])
    return try JSONDecoder().decode([Service].self, from: Data(output))
  }

  @Test(
    "keeps what the documents promise, or says what it leaves out",
    .enabled(if: python != nil, "needs ANALYSIS_PYTHON, a Python with PyYAML"))
  func complete() async throws {
    let services = try await Self.services()
    let text = try String(contentsOfFile: packagePath("docker-compose.yml"), encoding: .utf8)
    let header = text.components(separatedBy: "\nx-")[0]
    // What is run by hand or by cron is named at the beginning, and is there.
    let run = /docker compose run --rm (?:--volume \S+ )?([a-z]+)/
    let named = Set(header.matches(of: run).map { String($0.1) })
    #expect(named == ["office", "submit", "close", "report", "purge", "keep", "backup", "keys"])
    for service in services where !service.profiles.isEmpty {
      let isStarted = service.profiles.contains("production") || service.profiles.contains("development")
      #expect(named.contains(service.name) != isStarted, "\(service.name)")
    }
    #expect(named.isSubset(of: services.map(\.name)))
    #expect(header.contains("Left out are the dashboard"))
    // Their profiles are among those that are checked.
    let check = try String(contentsOfFile: packagePath("scripts/check-jobs"), encoding: .utf8)
    let checked = try #require(check.firstMatch(of: /for profile in (.*); do/)).1.split(separator: " ")
    #expect(Set(checked.map(String.init)) == Set(services.flatMap(\.profiles)))
  }

  @Test(
    "are commands that there are, with options that they take",
    .enabled(if: python != nil, "needs ANALYSIS_PYTHON, a Python with PyYAML"))
  func commands() async throws {
    let folder = try TemporaryFolder()
    try folder.write("", to: "ends")
    var count = 0
    for service in try await Self.services() where service.command.first == "analysisctl" {
      let command = service.command.dropFirst().map { word in
        word.hasPrefix("/var/lib/analysis/") ? folder.path(URL(filePath: word).lastPathComponent) : word
      }
      // The dashboard serves until it is stopped.
      guard command != ["serve"] else { continue }
      let ran = await Control(database: "host=/nonexistent").run(Array(command))
      #expect(ran.code == (service.name == "keys" ? .done : .unreachable), "\(command): \(ran.messages)")
      count += 1
    }
    #expect(count == 6)
  }
}
