import EventLoop
import Foundation
import PostgreSQL
import TestSupport
import Testing

@testable import Gateway
@testable import HTTPServing
@testable import Support

@Suite("The description of the gateway for programs, docs/openapi.yaml")
struct DescriptionTests {
  private static let python = ProcessInfo.processInfo.environment["ANALYSIS_PYTHON"]

  @Test(
    "has each route, and no other", .enabled(if: python != nil, "needs ANALYSIS_PYTHON, a Python with PyYAML")
  )
  func routes() async throws {
    let script = """
      import re, sys, yaml
      for path, item in yaml.safe_load(open(sys.argv[1]))['paths'].items():
        for method in item:
          if method != 'parameters': print(method.upper(), re.sub('{[^}]*}', '*', path))
      """
    let described = try await HelperProgram.output(
      try #require(Self.python), ["-c", script, packagePath("docs/openapi.yaml")])
    let loop = try EventLoop(name: "description")
    let gateway = Gateway(
      GatewayConfiguration(database: ConnectionConfiguration("host=/nowhere")), loop: loop, log: .discard,
      version: "1")
    #expect(
      String(decoding: described, as: UTF8.self).split(separator: "\n").map(String.init).sorted()
        == gateway.routes.map { "\($0.method.rawValue) \($0.path)" }.sorted())
    await gateway.close()
    loop.shutdown()
  }
}
