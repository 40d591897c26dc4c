import Foundation
import HTTPTestSupport
import QueueTestSupport
import TestSupport
import Testing

@Suite("scripts/trial", .onOwnThread)
struct TrialTests {
  /// A trial that is up.
  private struct Trial {
    let program: RunningProgram
    /// Where it has all that it made.
    let folder: String
    let output: String

    /// Starts one and waits until it says that it runs.
    static func started(as user: [String] = []) async throws -> Trial {
      // A shell cannot trap what was ignored when it began, and Foundation has blocked the rest.
      let command = user + ["/usr/bin/env", "--default-signal", packagePath("scripts/trial")]
      let search = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
      let program = try RunningProgram(
        command[0], Array(command.dropFirst()),
        environment: ["PATH": search, "ANALYSIS_PROGRAMS": Executable.programs.path, "LC_ALL": "C.UTF-8"])
      try await eventually("the trial to be up") {
        if program.hasEnded {
          throw TestSupportError("it has ended: \(program.outputSoFar)\(program.errorsSoFar)")
        }
        return program.outputSoFar.contains("analysisctl submit --user clinic-7 --wait --results --again")
      }
      let output = program.outputSoFar
      let folder = try #require(output.firstMatch(of: #/  \. (/tmp/[^/]+)/environment\n/#)?.output.1)
      return Trial(program: program, folder: String(folder), output: output)
    }

    /// The commands that it shows for another terminal.
    var commands: [String] {
      output.split(separator: "\n").map(String.init).filter { $0.hasPrefix("  ") }.map {
        String($0.dropFirst(2))
      }
    }

    /// The processes that it has started, and those that they have.
    func processes() throws -> [Int32] {
      try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap(Int32.init).filter { id in
        let line = FileManager.default.contents(atPath: "/proc/\(id)/cmdline")
        return line.map { String(decoding: $0, as: UTF8.self).contains(folder + "/") } == true
      }
    }

    /// Runs commands as in another terminal.
    func run(_ commands: [String], as user: [String]) async throws -> RunningProgram.Ended {
      let words = user + ["/bin/bash", "-ec", commands.joined(separator: "\n")]
      return try await RunningProgram(
        words[0], Array(words.dropFirst()), environment: ["PATH": "/usr/bin:/bin"]
      )
      .ended()
    }

    func port() throws -> UInt16 {
      let found = output.firstMatch(of: #/The dashboard: http://127\.0\.0\.1:([0-9]+)//#)?.output.1
      return try #require(found.flatMap { UInt16($0) })
    }
  }

  /// Somebody who is not root, where the tests are.
  private static let nobody =
    getuid() == 0 ? ["/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] : []

  @Test("runs beside another one, of root and of an ordinary user; Ctrl-C ends it and leaves nothing behind")
  func trials() async throws {
    async let first = Trial.started()
    async let second = Trial.started(as: Self.nobody)
    let trials = [(try await first, [String]()), (try await second, Self.nobody)]
    for (trial, user) in trials {
      // Each picture with what was found in it.
      #expect(trial.output.matches(of: /\n.*throat-[0-9]+\.(jpg|png).*%/).count >= 6, "\(trial.output)")
      #expect(try RawClient(port: try trial.port()).request("GET", "/readyz").status == 200)
      #expect(trial.commands.count == 4)
      // On no terminal the status is not drawn anew.
      let commands = trial.commands.map { $0.replacing(" --watch", with: "") }
      let ended = try await trial.run(commands, as: user)
      #expect(ended.status == 0, "\(ended.errors)")
      #expect(String(decoding: ended.output, as: UTF8.self).contains("clinic-7"))
      // The server, the endpoint, two workers.
      #expect(try trial.processes().count >= 4)
    }
    for (trial, _) in trials {
      trial.program.send(SIGINT)
      let ended = await trial.program.ended()
      #expect(ended.status == 0 && !ended.wasKilled, "\(ended.errors)")
      #expect(try trial.processes() == [])
      #expect(!FileManager.default.fileExists(atPath: trial.folder))
    }
  }

  @Test("says so and ends with 1 when a program of it ends")
  func broken() async throws {
    let trial = try await Trial.started()
    let endpoint = try #require(
      try trial.processes().first { id in
        let line = FileManager.default.contents(atPath: "/proc/\(id)/cmdline")
        return line.map { String(decoding: $0, as: UTF8.self).hasPrefix("model-endpoint") } == true
      })
    kill(endpoint, SIGKILL)
    let ended = await trial.program.ended()
    #expect(ended.status == 1 && ended.errors.contains("has ended by itself"), "\(ended.errors)")
    #expect(!FileManager.default.fileExists(atPath: trial.folder))
  }

  @Test("refuses a folder that is not there")
  func nowhere() async throws {
    let ended = try await HelperProgram.run(packagePath("scripts/trial"), ["/nonexistent"])
    #expect(ended.status == 66)
  }
}
