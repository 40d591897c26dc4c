import CommandLineTool

/// `analysisctl keys rotate`.
enum KeysRotateCommand {
  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "rotate", abstract: "Put every encrypted image under the current key.",
      discussion: """
        Each image's own key is decrypted here and encrypted under the current key; the images themselves stay as \
        they are, and those in plaintext stay in plaintext. Workers and submits go on meanwhile, if the workers have \
        the current key already.

        A thousand images are written at a time: whatever ends the command, what was written holds, and the same \
        command does the rest. Exit code 4 when an image could not be put under the current key: its own key is \
        missing from the file, or was changed in the database. What was written is recorded in the audit, with the keys \
        of before.
        """,
      examples: [
        Example("analysisctl keys rotate --key-file /etc/analysis/image.keys", "After keys new."),
        Example("analysisctl keys rotate --key-file /etc/analysis/image.keys --json", "For a program."),
      ],
      inputs: [ReasonOption.reason],
      exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
    ) { context in
      let ring = try await KeyFileOption.readRequired(context)
      let reason = try context.values[ReasonOption.reason]
      return try await context.withSession(dependencies) { session in
        let interactor = KeysRotateInteractor(
          database: session.database, keys: ring, actor: session.actor(reason))
        let bar = ProgressBar("images", total: try await interactor.total(), console: session.console)
        let response = try await interactor.answer { bar.advance(by: $0) }
        bar.finish()
        try session.view.show(response, by: KeysRotatePresenter.self)
        return response.failures.isEmpty ? .done : .refused
      }
    }
  }
}
