import CommandLineTool
import FoundationEssentials
import ImageEncryption

/// `analysisctl keys remove`.
enum KeysRemoveCommand {
  static let key = Argument("key", .keyID, help: "The key's number: 16 hexadecimal digits.")
  static let atOnce = Flag(
    "at-once", help: "Also within a day of the next key: nobody submits any more who began before it.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "remove", abstract: "Remove a key from the file, unless images are under it.",
      discussion: """
        Refused, with exit code 4, while an image in the database is under the key, for the current key, and within \
        a day of the key that came after it, unless with --at-once: a submit that began before that encrypts under the \
        older one until it ends. What is in older backups under it can be read by nobody afterwards. See to it that \
        nobody submits with an older copy of the file in which the key is the current one. That it was removed is \
        recorded in the audit.
        """,
      examples: [
        Example(
          "analysisctl keys remove 0f3a5c7e9b1d2468 --key-file /etc/analysis/image.keys",
          "After keys rotate.")
      ],
      inputs: [atOnce, ReasonOption.reason, key],
      exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
    ) { context in
      let path = try KeyFileOption.required(context.values)
      let (id, reason) = (try context.values[key], try context.values[ReasonOption.reason])
      return try await context.withSession(dependencies) { session in
        let interactor = KeysRemoveInteractor(
          database: session.database, keys: try await KeyFileOption.readRequired(context),
          actor: session.actor(reason), now: Date().timeIntervalSince1970,
          isAtOnce: try context.values[atOnce])
        try session.view.show(try await interactor.answer(id, from: path), by: KeyFilePresenter.self)
        return .done
      }
    }
  }
}

extension ValueFormat where Value == KeyID {
  /// A key's number.
  static var keyID: Self {
    ValueFormat(
      name: "KEY",
      parse: { (given: String) throws(ValueError) -> KeyID in
        guard let id = KeyID(text: given) else {
          throw ValueError(
            "is not a key's number: 16 hexadecimal digits, as analysisctl keys list shows them")
        }
        return id
      },
      text: { $0.description })
  }
}
