import Foundation
import TestSupport
import Testing

@Suite(
  "The programs as files", .enabled(if: HelperProgram.find("/usr/bin/readelf") != nil, "needs readelf"))
struct ProgramFileTests {
  @Test(
    "have their table of foreign functions filled at their start and read-only then, and no stack that is run",
    arguments: [
      "analysis-worker", "analysis-gateway", "analysisctl", "image-decoder", "statement-printer",
      "model-endpoint",
    ])
  func linked(program: String) async throws {
    let path = Executable.programs.appending(path: program).path
    let read = { (what: String) async throws -> [Substring] in
      let output = try await HelperProgram.output("/usr/bin/readelf", [what, path])
      return String(decoding: output, as: UTF8.self).split(separator: "\n")
    }
    let dynamic = try await read("-dW")
    #expect(dynamic.contains { $0.contains("(FLAGS_1)") && $0.contains("NOW") && $0.contains("PIE") })
    let segments = try await read("-lW")
    #expect(segments.contains { $0.contains("GNU_RELRO") })
    #expect(segments.contains { $0.contains("GNU_STACK") && $0.contains(" RW ") })
  }

  @Test("are judged by scripts/check-programs, which finds what is wrong with one")
  func checked() async throws {
    let script = packagePath("scripts/check-programs")
    let debug = try await HelperProgram.run(
      script, [Executable.programs.appending(path: "image-decoder").path])
    // A build for debugging finds the toolchain's libraries by it; a release has none.
    #expect(debug.status == 1 && debug.errors.contains("RUNPATH"), "\(debug.errors)")
    let folder = try TemporaryFolder()
    let source = try folder.write("int main(void) { return 0; }\n", to: "a.c")
    for (options, fault) in [
      (["-pie", "-Wl,-z,now"], nil), (["-pie", "-Wl,-z,lazy"], "looks functions up late"),
      (["-no-pie", "-Wl,-z,now"], "position"), (["-pie", "-Wl,-z,now,-z,norelro"], "RELRO"),
      (["-pie", "-Wl,-z,now,-z,execstack"], "stack"), (["-pie", "-Wl,-z,now,-rpath,/opt/x"], "RUNPATH"),
    ] as [([String], String?)] {
      let program = folder.path("program")
      let compiled = try await HelperProgram.run(
        "/usr/bin/gcc", ["-fPIE"] + options + ["-o", program, source])
      #expect(compiled.status == 0, "\(compiled.errors)")
      let judged = try await HelperProgram.run(script, [program])
      #expect(judged.status == (fault == nil ? 0 : 1), "\(options): \(judged.errors)")
      if let fault { #expect(judged.errors.contains(fault), "\(options): \(judged.errors)") }
    }
  }
}
