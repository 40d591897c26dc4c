/// What a shell may offer while a value is being typed.
public enum CompletionHint: Sendable, Equatable {
  /// Nothing can be offered.
  case none
  /// Files and folders.
  case files
  /// Folders only.
  case folders
  /// These words.
  case words([String])
}
