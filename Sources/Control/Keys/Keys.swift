import CommandLineTool

/// `analysisctl keys`.
enum KeysCommand {
  static let command = ControlCommand(
    "keys", abstract: "Make, list, change and remove the keys under which images are encrypted.",
    discussion: """
      The keys are in a file of their own, of which the database knows the keys' numbers and nothing else. Every \
      image has a random key, and this one is encrypted under the file's current key: so rotating rewrites 80 \
      bytes an image. Whoever loses the file has lost the images; keep copies of it, apart from the database's.

      A new key comes into use in this order: keys new; the file to every worker, which reads it again by \
      itself, and then to whoever submits; keys rotate; keys remove for the old one, when keys list shows \
      nothing under it any more. A backup of the database from before needs the old key.
      """,
    examples: [
      Example("analysisctl keys new --key-file /etc/analysis/image.keys", "A first key, or a newer one."),
      Example(
        "analysisctl keys list --key-file /etc/analysis/image.keys", "The keys, and what is under them."),
      Example(
        "analysisctl keys rotate --key-file /etc/analysis/image.keys", "All images under the current key."),
      Example(
        "analysisctl keys remove 0f3a5c7e9b1d2468 --key-file /etc/analysis/image.keys",
        "Forget one that nothing is under."),
    ],
    inputs: [KeyFileOption.path],
    subcommands: [
      KeysNewCommand.command, KeysListCommand.command,
      KeysRotateCommand.command, KeysRemoveCommand.command,
    ])
}
