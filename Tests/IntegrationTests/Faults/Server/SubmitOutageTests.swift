import AnalysisCore
import Foundation
import TestSupport
import Testing

@Suite("The server goes away while somebody submits")
struct SubmitOutageTests {
  @Test("A submit without a server exits 69 when its time is over; the same command completes it later, once")
  func refused() async throws {
    try await ServerTrial.with(jobs: 0) { trial in
      try await trial.cluster.stop(.immediate)
      trial.proxy.refuse()
      let command = try await trial.submission()
      let first = try await trial.control(command + ["--connect-timeout", "200ms"])
      #expect(first.code == 69, "\(first.messages)")
      #expect(first.messages.contains("cannot be reached"), "\(first.messages)")
      #expect(first.jobs == [])
      try await trial.cluster.start()
      try trial.proxy.admit()
      let second = try await trial.control(command)
      #expect(second.code == 0, "\(second.messages)")
      let third = try await trial.control(command)
      #expect(third.jobs == second.jobs)
      #expect(
        try await trial.installation.number("SELECT count(*)::int FROM analysis.job") == second.jobs.count)
      try await trial.trial.drain()
      try await trial.expectUnharmed(also: second.jobs)
    }
  }

  @Test("A submit that begins while there is no server says what it waits for, and submits when it is there")
  func beforeServer() async throws {
    try await ServerTrial.with(jobs: 0) { trial in
      try await trial.cluster.stop(.immediate)
      trial.proxy.refuse()
      let submit = try Executable(
        "analysisctl", try await trial.submission(["--connect-timeout", "5m"]), environment: trial.environment
      )
      try await eventually { submit.messagesSoFar.contains("Waiting for the database") || submit.hasEnded }
      try await trial.cluster.start()
      try trial.proxy.admit()
      let ended = await submit.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      try await trial.trial.drain()
      try await trial.expectUnharmed(also: ended.jobs)
    }
  }

  @Test(
    "What waiting does not cure is not waited for",
    arguments: [
      ("dbname=nowhere", "does not exist", 69), ("user=nobody", "refused the role", 77),
    ])
  func notCured(setting: String, words: String, code: Int32) async throws {
    var options = ServerCluster.Options()
    options.access = ["local all nobody reject"]
    try await withServerCluster(options) { cluster in
      let ended = try await Executable(
        "analysisctl", ["status", "--connect-timeout", "1h"],
        environment: ["ANALYSIS_DATABASE": "\(cluster.conninfo()) \(setting)"]
      ).ended()
      #expect(ended.code == code, "\(ended.messages)")
      #expect(ended.messages.contains(words), "\(ended.messages)")
      #expect(!ended.messages.contains("Waiting for"), "\(ended.messages)")
    }
  }

  @Test("A submit over a restart of the server waits for it and submits every picture once")
  func overRestart() async throws {
    try await ServerTrial.with(jobs: 0) { trial in
      // Nothing of it reaches the server before it has gone.
      trial.proxy.cut(.beforeServer, at: "analysis.submit(", times: 1)
      let submit = try Executable(
        "analysisctl", try await trial.submission(), environment: trial.environment)
      try await eventually { trial.proxy.struck == 1 }
      try await trial.cluster.restart(.immediate)
      let ended = await submit.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      try await trial.trial.drain()
      try await trial.expectUnharmed(also: ended.jobs)
    }
  }

  @Test("A submit whose server stays away says how to go on, and goes on with the same key")
  func staysAway() async throws {
    try await ServerTrial.with(jobs: 0) { trial in
      // What it repeats loses its answer too, until the server has gone.
      trial.proxy.cut(.afterAnswer, at: "analysis.submit(", times: .max)
      let submit = try Executable(
        "analysisctl", try await trial.submission(), environment: trial.environment)
      try await eventually { trial.proxy.struck > 0 }
      try await trial.cluster.stop(.immediate)
      let ended = await submit.ended()
      #expect(ended.code == 69, "\(ended.messages)")
      #expect(ended.messages.contains("--key run-1"), "\(ended.messages)")
      trial.proxy.spare()
      try await trial.cluster.start()
      let again = try await trial.control(try await trial.submission())
      #expect(again.code == 0, "\(again.messages)")
      #expect(
        try await trial.installation.number("SELECT count(*)::int FROM analysis.job") == again.jobs.count)
      try await trial.trial.drain()
      try await trial.expectUnharmed(also: again.jobs)
    }
  }

  @Test("submit --wait waits for a server that goes away, and exits 0 when the jobs have ended")
  func waits() async throws {
    try await ServerTrial.with(jobs: 0) { trial in
      let submit = try Executable(
        "analysisctl", try await trial.submission(["--wait"]), environment: trial.environment)
      try await eventually {
        try await trial.installation.number("SELECT count(*)::int FROM analysis.job") > 0
      }
      try await trial.cluster.stop(.immediate)
      try await eventually { submit.messagesSoFar.contains("waited for all the same") || submit.hasEnded }
      try await trial.cluster.start()
      try await trial.trial.drain()
      let ended = await submit.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      try await trial.expectUnharmed(also: ended.jobs)
    }
  }
}
