import Foundation
import TestSupport
import Testing

@Suite("The bill of materials")
struct BillOfMaterialsTests {
  /// A Python with the validator of SPDX documents.
  private static var python: String? {
    guard let python = ProcessInfo.processInfo.environment["ANALYSIS_PYTHON"] else { return nil }
    let site = URL(filePath: python).deletingLastPathComponent().appending(path: "pyspdxtools")
    return FileManager.default.isExecutableFile(atPath: site.path) ? site.path : nil
  }

  private static let programs = [
    "analysis-worker", "analysis-gateway", "analysisctl", "image-decoder", "statement-printer",
  ]

  /// The bill of the programs that were built, the same each time.
  private func bill() async throws -> String {
    let files = Self.programs.map { Executable.programs.appending(path: $0).path }
    let ended = try await RunningProgram(
      packagePath("scripts/bill-of-materials"), files,
      environment: ProcessInfo.processInfo.environment.merging(["SOURCE_DATE_EPOCH": "0"]) { $1 }
    ).ended()
    #expect(ended.status == 0, "\(ended.errors)")
    return String(decoding: ended.output, as: UTF8.self)
  }

  @Test("names the programs and each library that they load, by its package, version and source")
  func contents() async throws {
    let bill = try await bill()
    for program in Self.programs {
      #expect(bill.contains("Relationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-program-\(program)\n"))
    }
    for package in [
      "libpq5", "libcurl4", "libssl3", "libsodium23", "libturbojpeg0", "libjpeg62-turbo", "libpango-1.0-0",
      "libxlsxwriter4", "libqrencode4",
      "libc6",
    ] {
      #expect(bill.contains("PackageName: \(package)\n"), "\(package)")
      #expect(bill.contains("DYNAMIC_LINK SPDXRef-deb-\(package)"), "\(package)")
    }
    let version = try await HelperProgram.output("/usr/bin/dpkg-query", ["-W", "-f", "${Version}", "libpq5"])
    #expect(bill.contains("PackageVersion: \(String(decoding: version, as: UTF8.self))\n"))
    #expect(try await self.bill() == bill)
  }

  @Test(
    "is a document of SPDX 2.3 to its own validator, which refuses one with a fault",
    .enabled(if: python != nil, "needs spdx-tools of PyPI, see scripts/test"))
  func valid() async throws {
    let validator = try #require(Self.python)
    let folder = try TemporaryFolder()
    let bill = try await bill()
    let good = try await HelperProgram.run(validator, ["-i", try folder.write(bill, to: "good.spdx")])
    #expect(good.status == 0, "\(good.errors)")
    let fault = bill.replacing("DYNAMIC_LINK SPDXRef-deb-libpq5", with: "DYNAMIC_LINK SPDXRef-deb-none")
    let bad = try await HelperProgram.run(validator, ["-i", try folder.write(fault, to: "bad.spdx")])
    #expect(bad.status != 0)
  }

  @Test("is refused for what is no program, and without one")
  func refused() async throws {
    let script = packagePath("scripts/bill-of-materials")
    #expect(try await HelperProgram.run(script, []).status == 64)
    #expect(try await HelperProgram.run(script, ["/nonexistent"]).status == 66)
  }
}
