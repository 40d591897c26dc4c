import CommandLineTool
import ImageEncryption

/// The file with the keys of encrypted images, for the commands that have to do with it.
enum KeyFileOption {
  static let path = Option<String?>(
    "key-file", .path, environment: "ANALYSIS_KEY_FILE", key: "key-file",
    help: "File (mode 0600) with the keys of encrypted images; a bare name is a service credential.")

  /// The keys; nil when no file is named.
  static func read(_ context: ControlContext) async throws -> KeyRing? {
    guard let path = try context[path] else { return nil }
    let environment = context.environment
    // Reading blocks, so it is done where threads may wait.
    let reading = Task(executorPreference: globalConcurrentExecutor) {
      try KeyFile.read(path, environment: environment)
    }
    return try await reading.value
  }

  /// The keys, for a command that needs them.
  static func readRequired(_ context: ControlContext) async throws -> KeyRing {
    guard let keys = try await read(context) else { throw missing }
    return keys
  }

  /// The file's path, for a command that needs it.
  static func required(_ context: ControlContext) throws -> String {
    guard let path = try context[path] else { throw missing }
    return path
  }

  private static let missing = CommandFailure.usage(
    "no key file is named",
    advice: "Name it with --key-file, with ANALYSIS_KEY_FILE, or in the configuration file.")
}
