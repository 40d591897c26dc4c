import CommandLineTool
import ImageEncryption

/// `analysisctl keys remove`.
enum KeysRemoveCommand {
  static let key = Argument("key", .keyID, help: "The key's number: 16 hexadecimal digits.")

  static func command(_ surroundings: Surroundings) -> Command {
    Command(
      "remove", abstract: "Remove a key from the file, unless images are under it.",
      discussion: """
        Refused, with exit code 4, while an image in the database is under the key, and for the current key. What \
        is in older backups under it can be read by nobody afterwards. See to it that nobody submits with an older \
        copy of the file in which the key is the current one. That it was removed is recorded in the audit.
        """,
      examples: [
        Example(
          "analysisctl keys remove 0f3a5c7e9b1d2468 --key-file /etc/analysis/image.keys",
          "After keys rotate.")
      ],
      inputs: [ReasonOption.reason, key],
      exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
    ) { context in
      let path = try KeyFileOption.required(context.values)
      let (id, reason) = (try context.values[key], try context.values[ReasonOption.reason])
      return try await context.withSession(surroundings) { session in
        let interactor = KeysRemoveInteractor(database: session.database, actor: session.actor(reason))
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
