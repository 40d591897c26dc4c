import Foundation
import TestSupport
import Testing

@Suite("What each program is built of")
struct ModuleTests {
  /// What each target of Package.swift names as its dependencies. `scripts/test` builds with a check that refuses every
  /// import of a module that is not among them.
  private static func dependencies() throws -> [String: Set<String>] {
    let text = try String(contentsOfFile: packagePath("Package.swift"), encoding: .utf8)
    let targets = text.matches(of: #/(?:module|tool)\(\s*"([^"]+)",\s*\[([^\]]*)\]/#)
    return Dictionary(
      targets.map { target in
        (String(target.output.1), Set(target.output.2.matches(of: #/"([^"]+)"/#).map { String($0.output.1) }))
      }, uniquingKeysWith: { $1 })
  }

  /// All that a target is built of, directly or not.
  private static func parts(of target: String) throws -> Set<String> {
    let dependencies = try dependencies()
    var found: Set<String> = []
    var left = [target]
    while let next = left.popLast() {
      for part in dependencies[next, default: []] where found.insert(part).inserted { left.append(part) }
    }
    return found
  }

  @Test(
    "only analysisctl can erase a person or change a user, plan or pause",
    arguments: [
      "analysis-worker", "analysis-gateway", "image-decoder", "Worker", "Gateway", "Queue", "Endpoint",
      "Images",
    ])
  func worker(target: String) throws {
    let parts = try Self.parts(of: target)
    #expect(parts.contains("Support"), "Package.swift was not understood")
    #expect(!parts.contains("Control"))
  }

  @Test("only statement-printer loads the libraries that draw, and it reaches no database")
  func printer() throws {
    for program in ["analysisctl", "analysis-worker", "analysis-gateway", "image-decoder"] {
      #expect(try !Self.parts(of: program).contains("Cpango"))
    }
    let parts = try Self.parts(of: "statement-printer")
    #expect(parts.contains("Cpango") && !parts.contains("PostgreSQL"))
  }

  @Test("analysisctl can")
  func control() throws {
    #expect(try Self.parts(of: "analysisctl").contains("Control"))
  }
}
