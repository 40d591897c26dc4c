import Endpoint
import Images

/// Whether the stored images are encrypted, and whether the keys that they name are at hand.
struct ImageChecks: DatabaseCheck {
  let keys: SecretUse
  let environment: [String: String]
  let group = "images"
  let needsSchema = true

  /// The key file as it was found.
  enum Keys: Sendable {
    case none
    case ring(KeyRing)
    case managed(String)
    case unreadable(ImageEncryptionError)
  }

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let file = await read()
    let counts = try await ImageKeyDirectory(database.pool).counts(deadline: AskedDatabase.deadline)
    return Self.judge(file) + Self.judge(counts, file)
  }

  private func read() async -> Keys {
    switch keys {
    case .none: return .none
    case .managed(let name): return .managed(name)
    case .file(let path):
      let environment = environment
      // Reading blocks, so it is done where threads may wait.
      let reading = Task(executorPreference: globalConcurrentExecutor) {
        Result { () throws(ImageEncryptionError) in try KeyFile.read(path, environment: environment) }
      }
      switch await reading.value {
      case .success(let ring): return .ring(ring)
      case .failure(let error): return .unreadable(error)
      }
    }
  }

  /// What there is to say of the file itself.
  static func judge(_ keys: Keys) -> [Finding] {
    let check = "images.keys"
    switch keys {
    case .none: return []
    case .managed(let name):
      return [
        .skipped(
          check, "the service manager gives the key file \(name) to the worker alone",
          "Name the file behind it with --key-file, as a user who may read it.")
      ]
    case .unreadable(let error):
      return [.wrong(check, error.message, error.advice ?? "Name the right file, or restore it from a copy.")]
    case .ring(let ring):
      return [.ok(check, "the key file has \(ring.keys.count) keys; \(ring.currentID) is the current one")]
    }
  }

  /// What the images come to with these keys.
  static func judge(_ counts: ImageKeyCounts, _ keys: Keys) -> [Finding] {
    [stored(counts, keys)] + missing(counts, keys)
  }

  private static func stored(_ counts: ImageKeyCounts, _ keys: Keys) -> Finding {
    let check = "images.stored"
    let message = "\(counts.allEncrypted) images are encrypted, \(counts.plaintext) are in plaintext"
    guard counts.plaintext > 0 else { return .ok(check, message) }
    guard case .none = keys, counts.allEncrypted == 0 else {
      return .warning(
        check, message,
        "Those in plaintext came without --key-file: by SQL, as unsanitized images do, or from before there was a key. They stay so."
      )
    }
    return .ok(check, message)
  }

  /// Keys that images name and that the file lacks.
  private static func missing(_ counts: ImageKeyCounts, _ keys: Keys) -> [Finding] {
    let check = "images.missing_keys"
    guard counts.allEncrypted > 0 else { return [] }
    guard case .ring(let ring) = keys else {
      return [
        .skipped(
          check, "\(counts.allEncrypted) images are encrypted, and no key file is at hand to compare with",
          "Name the workers' key file with --key-file.")
      ]
    }
    let known = Set(ring.ids.map(\.value))
    let lacking = counts.encrypted.filter { !known.contains($0.key) }.sorted { $0.key < $1.key }
    guard !lacking.isEmpty else { return [.ok(check, "the key file has every key that images name")] }
    return lacking.map { number, count in
      .wrong(
        check,
        "\(count) images are under key \(KeyID(number)?.description ?? String(number)), which the key file lacks",
        "Put the key back from a copy of the file: nobody can see these images without it, and their jobs wait."
      )
    }
  }
}
