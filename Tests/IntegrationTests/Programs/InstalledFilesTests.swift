import Foundation
import TestSupport
import Testing

@Suite("What scripts/install installs")
struct InstalledFilesTests {
  private static func install(into folder: TemporaryFolder) async throws {
    var environment = ProcessInfo.processInfo.environment
    environment["ANALYSIS_PROGRAMS"] = Executable.programs.path
    let ended = try await RunningProgram(
      packagePath("scripts/install"), [folder.path], environment: environment
    ).ended()
    try #require(ended.status == 0, "\(ended.errors)")
  }

  /// The output of `analysisctl`.
  private static func control(_ arguments: [String]) async throws -> String {
    await (try Executable("analysisctl", arguments)).ended().output
  }

  /// The commands directly below one, as its help lists them.
  private static func commands(below path: [String]) async throws -> [[String]] {
    let help = try await control(path + ["--help"])
    // Those of the program stand under several headings.
    let sections = help.components(separatedBy: "\n\n").drop { !$0.hasPrefix("Usage:\n") }.dropFirst()
    let lists = sections.prefix { !$0.hasPrefix("Options:\n") }.filter { !$0.hasPrefix("Arguments:\n") }
    let lines: [Substring] = lists.flatMap { $0.split(separator: "\n").dropFirst() }
    let names = lines.compactMap { $0.firstMatch(of: /^  ([a-z-]+)( |$)/).map { String($0.output.1) } }
    return names.filter { !["help", "completions"].contains($0) }.map { path + [$0] }
  }

  @Test(
    "is every file of jobs, a manual page for each command, completions, and nothing over what is configured")
  func files() async throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path("etc/analysis"), withIntermediateDirectories: true)
    try folder.write("endpoint = https://ours.example.org\n", to: "etc/analysis/worker.conf")
    try await Self.install(into: folder)

    let installed = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    let jobs = packagePath("jobs")
    for path in try FileManager.default.subpathsOfDirectory(atPath: jobs)
    where !["README.md", "prometheus.yml", "worker.conf"].contains(path) {
      let name = (path as NSString).lastPathComponent.replacing(
        #/^analysis-queue\.(sysusers|tmpfiles)$/#, with: "analysis-queue.conf")
      let content = FileManager.default.contents(atPath: "\(jobs)/\(path)")
      guard let content else { continue }  // a folder
      #expect(
        installed.contains {
          $0.hasSuffix("/\(name)") && FileManager.default.contents(atPath: folder.path($0)) == content
        },
        "\(path)")
    }
    #expect(try folder.text("etc/analysis/worker.conf") == "endpoint = https://ours.example.org\n")

    var commands: [[String]] = []
    var level = try await Self.commands(below: [])
    while !level.isEmpty {
      commands += level
      var below: [[String]] = []
      for command in level { below += try await Self.commands(below: command) }
      level = below
    }
    #expect(commands.count > 40)
    let pages = installed.filter { $0.hasPrefix("usr/share/man/man1/") }
    let expected =
      commands.map { (["analysisctl"] + $0).joined(separator: "-") } + [
        "analysisctl", "analysis-worker", "analysis-gateway",
      ]
    #expect(Set(pages) == Set(expected.map { "usr/share/man/man1/\($0).1.gz" }))
    let page = try await HelperProgram.output(
      "/usr/bin/zcat", [folder.path("usr/share/man/man1/analysisctl-jobs-list.1.gz")])
    #expect(String(decoding: page, as: UTF8.self) == (try await Self.control(["jobs", "list", "--man"])))

    for (shell, path) in [
      ("bash", "bash-completion/completions/analysisctl"), ("zsh", "zsh/vendor-completions/_analysisctl"),
      ("fish", "fish/vendor_completions.d/analysisctl.fish"),
    ] {
      #expect(try folder.text("usr/share/\(path)") == (try await Self.control(["completions", shell])))
    }
  }

  @Test("has manual pages of which man says nothing", .enabled(if: HelperProgram.find("/usr/bin/man") != nil))
  func roff() async throws {
    let folder = try TemporaryFolder()
    for command in [["analysisctl"], ["analysisctl", "submit"], ["analysisctl", "jobs", "list"]] {
      let page = try folder.write(
        try await Self.control(Array(command.dropFirst()) + ["--man"]), to: "page.1")
      let ended = try await RunningProgram(
        "/usr/bin/man", ["--warnings", "--local-file", page],
        environment: [
          "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MAN_KEEP_FORMATTING": "",
        ]
      ).ended()
      #expect(ended.status == 0 && ended.errors.isEmpty, "\(command): \(ended.errors)")
      let text = String(decoding: ended.output, as: UTF8.self)
      #expect(text.contains(command.joined(separator: "-").uppercased() + "(1)"))
    }
  }
}
