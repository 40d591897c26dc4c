import CommandLineTool
import Formatting
import FoundationEssentials
import ImageEncryption

/// `analysisctl keys new`.
enum KeysNewCommand {
  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "new", abstract: "Make a key, under which images are encrypted from now on.",
      discussion: """
        The key is added to the file and is its current one; those that are there stay. A file that is not there is \
        made, for its owner alone (mode 0600). The database is not asked.
        """,
      examples: [
        Example("analysisctl keys new --key-file /etc/analysis/image.keys", "Make the file, or a newer key.")
      ],
      exitCodes: [.done, .usage, .unreadableInput, .tryLater, .permission]
    ) { context in
      let path = try KeyFileOption.required(context.values)
      let now = Date().timeIntervalSince1970
      let changing = Task(executorPreference: globalConcurrentExecutor) { try KeyFile.addKey(path, at: now) }
      let view = View(console: context.console, isJSON: try context.values[CommonOptions.json])
      try view.show(KeyFileResponse(path: path, ring: try await changing.value), by: KeyFilePresenter.self)
      return .done
    }
  }
}
