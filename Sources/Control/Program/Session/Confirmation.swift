import CommandLineTool
import EventLoop
import Glibc
import PostgreSQL
import Support

/// Asks whoever sits at the terminal before something is changed that cannot be taken back, or that others rely on.
enum Confirmation {
  static let yes = Flag("yes", help: "Do it without asking; needed where there is no terminal to ask at.")

  /// More things than so many are not changed at once without a question.
  static let few = 10

  /// Refuses to begin where the question that is to come could be answered by nobody.
  static func requireTerminal(_ context: ControlContext, _ advice: String = advice) throws {
    guard context.dependencies.hasTerminal() else { throw unasked(advice) }
  }

  private static let advice = "Give --yes to do it without being asked; nothing was changed."

  private static func unasked(_ advice: String = advice) -> CommandFailure {
    .usage("this asks before it changes anything, and there is no terminal to ask at", advice: advice)
  }

  /// Returns when the question was answered with yes, or need not be asked.
  ///
  /// - Throws: `CommandFailure` with `refused` when the answer is anything else, and with `usage` where nobody can be asked.
  static func require(_ question: String, _ session: ControlSession) async throws {
    if try session.context[yes] { return }
    guard let isYes = try await ask(question, session) else { throw unasked() }
    guard isYes else {
      throw CommandFailure(.refused, "Nothing was changed, since the answer was not yes.")
    }
  }

  /// Whether a question was answered with yes; nil where there is no terminal to ask at.
  static func ask(_ question: String, _ session: ControlSession) async throws -> Bool? {
    try await typed(question + " [y/N] ", session).map { ["y", "yes"].contains($0.lowercased()) }
  }

  /// Returns when the name of what is to go for good was typed.
  ///
  /// - Throws: `CommandFailure` with `refused` when anything else was typed, and with `usage` where nobody can be asked.
  static func requireName(_ name: String, _ warning: String, _ session: ControlSession) async throws {
    guard let answer = try await typed("\(warning) Type \(name) to go on: ", session) else {
      throw unasked(nameAdvice)
    }
    guard answer == name else {
      throw CommandFailure(.refused, "Nothing was changed, since something else was typed.")
    }
  }

  /// What a script gives in place of the typed name.
  static let nameAdvice =
    "Give --confirm with the same name to do it without being asked; nothing was changed."

  /// What was typed when it was asked; nil where there is no terminal to ask at.
  static func typed(_ question: String, _ session: ControlSession) async throws -> String? {
    guard session.context.dependencies.hasTerminal() else { return nil }
    try? session.console.messages.write(printable(question, keeping: "\n"))
    let answer = try await session.context.dependencies.typedLine(session.database.loop)
    if answer == nil { session.console.say("") }
    return answer
  }
}

/// A line that is typed at the terminal, without its end; nil where standard input is no terminal or has ended.
///
/// - Throws: `CancellationError` when the task is cancelled before the line has come.
func typedLine(on loop: EventLoop) async throws -> String? {
  guard isatty(0) == 1 else { return nil }
  let (lines, arrived) = AsyncStream.makeStream(of: Void.self)
  try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
    loop.execute {
      do {
        try loop.watch(0, .read) { _ in
          loop.unwatch(0)
          arrived.finish()
        }
        continuation.resume()
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }
  defer { loop.execute { loop.unwatch(0) } }
  for await _ in lines {}
  try Task.checkCancellation()
  // The terminal gives a whole line at once, and this one has come.
  return readLine()
}
