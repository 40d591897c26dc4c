import Foundation
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Endpoint
@testable import Gateway
@testable import Queue
@testable import analysis_gateway

@Suite(
  "The compose file agrees with the programs",
  .enabled("needs Python's yaml, which docker-compose brings") { try await ComposeFile.canBeRead() })
struct ComposeTests {
  private static let worker = Tool(
    WorkerOptions.command { _ in .done }, version: "1", configuration: ServiceOptions.configuration)
  private static let gateway = Tool(
    GatewayOptions.command { _ in .done }, version: "1", configuration: ServiceOptions.configuration)

  /// The variables that are read by a service's program; the entry point reads the account.
  private static func variables(_ service: ComposeFile.Service) -> [String: String] {
    (service.environment ?? [:]).filter { $0.key.hasPrefix("ANALYSIS_") && $0.key != "ANALYSIS_ACCOUNT" }
      .mapValues { $0.hasPrefix("${ANALYSIS_ENDPOINT") ? "https://model.example.org" : $0 }
  }

  /// What a service's program understands, and the roles that may run it.
  private static func understood(
    _ service: ComposeFile.Service
  ) throws -> (help: String, roles: [DatabaseRole]) {
    let (words, variables) = (service.words, variables(service))
    if words.first == "analysis-gateway" {
      _ = try gateway.parse(Array(words.dropFirst()), environment: variables)
      return (gateway.text(of: .help(["analysis-gateway"])), [.gateway])
    }
    guard words.first == "analysisctl" else {
      _ = try worker.parse(Array(words.dropFirst()), environment: variables)
      return (worker.text(of: .help(["analysis-worker"])), [.worker])
    }
    let tool = ControlProgram.tool()
    _ = try tool.parse(Array(words.dropFirst()), environment: variables)
    let path = Array(words.prefix { !$0.hasPrefix("-") })
    let roles = CommandRoles.roles(for: path.dropFirst().joined(separator: " "))
    return (
      tool.text(of: .help(path)) + tool.text(of: .options), path.count > 1 ? roles : DatabaseRole.allCases
    )
  }

  @Test("each service gives its program options and variables that it knows")
  func options() async throws {
    let services = try await ComposeFile.read().own.filter { $0.key != "endpoint" }
    #expect(services.count == 12)
    for (name, service) in services {
      let help = try Self.understood(service).help.split(whereSeparator: \.isWhitespace).joined(
        separator: " ")
      for variable in Self.variables(service).keys {
        #expect(help.contains("environment: \(variable)"), "\(name): \(variable)")
      }
    }
  }

  @Test("each service comes as a login that may run its command, with that login's password alone")
  func logins() async throws {
    let file = try await ComposeFile.read()
    let setup = try #require(file.services["roles"]?.command?.first)
    for (name, service) in file.own where !["endpoint", "migrate", "keys"].contains(name) {
      let login = try #require(service.environment?["PGUSER"], "\(name)")
      let role = try #require(RolesSetup.parts.first { $0.login == login }?.role, "\(name): \(login)")
      #expect(try Self.understood(service).roles.contains(role), "\(name): \(login)")
      #expect(setup.contains("('\(login)', '\(role.name(prefix: "analysis"))')"), "\(name): \(login)")
      #expect(setup.contains("ALTER ROLE \(login) PASSWORD :'\(login)'"), "\(login)")
      let secrets = Set(service.secrets?.map(\.target) ?? []).subtracting(["endpoint.password"])
      #expect(secrets == ["\(login).password"], "\(name)")
    }
    #expect(file.services["migrate"]?.secrets?.map(\.target) == ["analysis.password"])
  }

  @Test(
    "what the timers of a package do can be run, and neither keys nor ends of the audit lie with the backups")
  func kept() async throws {
    let file = try await ComposeFile.read()
    let commands = file.own.values.map {
      $0.words.prefix { !$0.hasPrefix("-") }.dropFirst().joined(separator: " ")
    }
    for job in ["month close", "report usage", "purge", "audit keep", "keys new"] {
      #expect(commands.contains(job), "\(job)")
    }
    let volumes = file.services.mapValues { $0.volumes ?? [] }
    #expect(volumes["backup"] == ["backups:/backups"])
    for name in ["worker", "gateway", "submit"] {
      #expect(volumes[name] == ["keys:/var/lib/analysis/keys:ro"], "\(name)")
    }
    // What git and the programs' image do not take.
    for list in [".dockerignore", ".gitignore"] {
      let lines = try String(contentsOfFile: packagePath(list), encoding: .utf8).split(separator: "\n")
      #expect(lines.contains { $0.hasPrefix("secrets") }, "\(list)")
    }
  }

  @Test("what is mounted is there, and each service that stays up is looked at")
  func files() async throws {
    let file = try await ComposeFile.read()
    for (name, service) in file.services {
      for path in service.volumes ?? [] where path.hasPrefix("./") {
        let source = String(path.dropFirst(2).prefix { $0 != ":" })
        #expect(FileManager.default.fileExists(atPath: packagePath(source)), "\(name): \(source)")
      }
      #expect((service.restart == "no") == (service.healthcheck == nil), "\(name)")
    }
  }

  @Test("scripts/compose-secrets draws each password once, in a closed folder")
  func secrets() async throws {
    let file = try await ComposeFile.read()
    let folder = try TemporaryFolder()
    let page = try Data(contentsOf: URL(fileURLWithPath: packagePath("docker-compose.yml")))
    try folder.write(page, to: "docker-compose.yml")
    let draw = { try await HelperProgram.output(packagePath("scripts/compose-secrets"), [folder.path]) }
    _ = try await draw()
    let passwords = try file.secrets.mapValues { try folder.text(String($0.file.dropFirst(2))) }
    #expect(passwords.count == 9 && Set(passwords.values).count == 9)
    for password in passwords.values { #expect(password.wholeMatch(of: /[0-9a-f]{48}/) != nil) }
    let mode = try FileManager.default.attributesOfItem(atPath: folder.path("secrets"))[.posixPermissions]
    #expect(mode as? Int == 0o700)
    #expect(try await draw().isEmpty)
    #expect(try file.secrets.mapValues { try folder.text(String($0.file.dropFirst(2))) } == passwords)
  }
}
