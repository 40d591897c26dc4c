import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("The server goes away while somebody submits")
struct SubmitOutageTests {
  @Test("A submit without a server exits 69 when its time is over; the same command completes it later, once")
  func refused() async throws {
    try await FaultyCluster.with(jobs: 0) { faulty in
      try await faulty.cluster.stop(.immediate)
      faulty.proxy.refuse()
      let command = try await faulty.installation.submission()
      let first = try await faulty.installation.control(command + ["--connect-timeout", "200ms"])
      #expect(first.code == 69, "\(first.messages)")
      #expect(first.messages.contains("cannot be reached"), "\(first.messages)")
      #expect(first.jobs == [])
      try await faulty.cluster.start()
      try faulty.proxy.admit()
      let second = try await faulty.installation.control(command)
      #expect(second.code == 0, "\(second.messages)")
      let third = try await faulty.installation.control(command)
      #expect(third.jobs == second.jobs)
      #expect(
        try await faulty.queue.number("SELECT count(*)::int FROM analysis.job") == second.jobs.count)
      try await faulty.installation.drain()
      try await faulty.expectUnharmed(also: second.jobs)
    }
  }

  @Test("A submit that begins while there is no server says what it waits for, and submits when it is there")
  func beforeServer() async throws {
    try await FaultyCluster.with(jobs: 0) { faulty in
      try await faulty.cluster.stop(.immediate)
      faulty.proxy.refuse()
      let submit = try Executable(
        "analysisctl", try await faulty.installation.submission(["--connect-timeout", "5m"]),
        environment: faulty.queue.environment
      )
      try await eventually { submit.messagesSoFar.contains("Waiting for the database") || submit.hasEnded }
      try await faulty.cluster.start()
      try faulty.proxy.admit()
      let ended = await submit.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      try await faulty.installation.drain()
      try await faulty.expectUnharmed(also: ended.jobs)
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
    try await FaultyCluster.with(jobs: 0) { faulty in
      // Nothing of it reaches the server before it has gone.
      faulty.proxy.cut(.beforeServer, at: "analysis.submit_in_batch(", times: 1)
      let submit = try Executable(
        "analysisctl", try await faulty.installation.submission(), environment: faulty.queue.environment)
      try await eventually { faulty.proxy.struck == 1 }
      try await faulty.cluster.restart(.immediate)
      let ended = await submit.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      try await faulty.installation.drain()
      try await faulty.expectUnharmed(also: ended.jobs)
    }
  }

  @Test("A submit whose server stays away says how to go on, and goes on with the same key")
  func staysAway() async throws {
    try await FaultyCluster.with(jobs: 0) { faulty in
      // What it repeats loses its answer too, until the server has gone.
      faulty.proxy.cut(.afterAnswer, at: "analysis.submit_in_batch(", times: .max)
      let submit = try Executable(
        "analysisctl", try await faulty.installation.submission(), environment: faulty.queue.environment)
      try await eventually { faulty.proxy.struck > 0 }
      try await faulty.cluster.stop(.immediate)
      let ended = await submit.ended()
      #expect(ended.code == 69, "\(ended.messages)")
      #expect(ended.messages.contains("--key run-1"), "\(ended.messages)")
      faulty.proxy.spare()
      try await faulty.cluster.start()
      let again = try await faulty.installation.control(try await faulty.installation.submission())
      #expect(again.code == 0, "\(again.messages)")
      #expect(
        try await faulty.queue.number("SELECT count(*)::int FROM analysis.job") == again.jobs.count)
      try await faulty.installation.drain()
      try await faulty.expectUnharmed(also: again.jobs)
    }
  }

  @Test("submit --wait waits for a server that goes away, and exits 0 when the jobs have ended")
  func waits() async throws {
    try await FaultyCluster.with(jobs: 0) { faulty in
      let submit = try Executable(
        "analysisctl", try await faulty.installation.submission(["--wait"]),
        environment: faulty.queue.environment)
      try await eventually {
        try await faulty.queue.number("SELECT count(*)::int FROM analysis.job") > 0
      }
      try await faulty.cluster.stop(.immediate)
      try await eventually { submit.messagesSoFar.contains("waited for all the same") || submit.hasEnded }
      try await faulty.cluster.start()
      try await faulty.installation.drain()
      let ended = await submit.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      try await faulty.expectUnharmed(also: ended.jobs)
    }
  }
}
