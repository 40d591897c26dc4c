import Foundation
import Support
import TestSupport

/// Submits by `analysisctl submit`, one picture at a time; some of these commands are killed, and later the same
/// is submitted under the same key.
struct CommandLoad: Sendable {
  let rig: Rig
  let history: History
  let pace: Pace

  /// The kind under which a killed command is counted.
  static let killed = "submit-killed"

  private struct Answer: Decodable {
    let outcome: String
    let job: String?
    let reason: String?
  }

  func run() async {
    var generator = SeededGenerator(seed: rig.settings.seed &* 41)
    var made = 0
    while await pace.mayGoOn() {
      made += 1
      let user = rig.users[Int.random(in: rig.users.indices, using: &generator)].reference
      let picture = rig.pictures[Int.random(in: rig.pictures.indices, using: &generator)]
      let killsAfter: Duration? =
        made.isMultiple(of: 3) ? .milliseconds(Int.random(in: 20...250, using: &generator)) : nil
      let key = "c\(made)"
      for (turn, patience) in [killsAfter, nil].enumerated() where turn == 0 || killsAfter != nil {
        // The job is known again by the name of its file.
        let tag = "\(key)-\(turn).jpg"
        let outcome = await submit(user, picture, key: key, tag: tag, client: made, killingAfter: patience)
        history.add([SubmitRecord(tag: tag, user: user, key: key, outcome: outcome)])
      }
      try? await Task.sleep(for: .milliseconds(1000))
    }
  }

  private func submit(
    _ user: String, _ picture: Picture, key: String, tag: String, client: Int,
    killingAfter patience: Duration?
  ) async -> SubmitRecord.Outcome {
    let file = rig.settings.folder.appending(path: tag)
    defer { try? FileManager.default.removeItem(at: file) }
    do {
      try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: picture.path)
      let command = try rig.programs.start(
        "analysisctl",
        ["submit", "--json", "--user", user, "--type", "throat", "--key", key, "--again", file.path],
        environment: ["ANALYSIS_DATABASE": rig.conninfo(client, role: Rig.backendRole)],
        label: "submit-\(key)")
      if let patience {
        try await Task.sleep(for: patience)
        command.send(SIGKILL)
      }
      let ended = await command.ended()
      if ended.wasKilled { rig.tally.cause(Self.killed) }
      let isAllowed = ended.wasKilled ? patience != nil : [0, 3, 4, 69, 75].contains(ended.status)
      guard isAllowed else {
        rig.tally.complain("analysisctl submit ended with \(ended.status): \(ended.errors)")
        return .unknown
      }
      return try Self.outcome(ended.output)
    } catch {
      rig.tally.note("analysisctl submit: \(error)")
      return .unknown
    }
  }

  /// What the command's own answer says; nothing, where it was killed before it.
  private static func outcome(_ output: [UInt8]) throws -> SubmitRecord.Outcome {
    guard let line = output.split(separator: UInt8(ascii: "\n")).first else { return .unknown }
    let answer = try JSONDecoder().decode(Answer.self, from: Data(line))
    switch (answer.outcome, answer.job.flatMap { JobID($0) }) {
    case ("created", let job?): return .created(job)
    case ("duplicate", let job?): return .duplicate(job)
    case ("refused", _): return .refused(answer.reason ?? "")
    default: return .unknown
    }
  }
}
