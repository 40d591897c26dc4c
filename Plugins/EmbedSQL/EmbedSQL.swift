import Foundation
import PackagePlugin

/// Compiles the package's `sql/` folder into the module that uses this plugin.
///
/// SwiftPM asks the plugin anew at every build, so that a new file in `sql/` is seen; the tool itself
/// runs only when one of its inputs changed.
@main
struct EmbedSQL: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let folder = context.package.directoryURL.appending(path: "sql")
    let walker = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    let files = (walker?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "sql" }
      .sorted { $0.path < $1.path }
    let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedSQL.swift")
    return [
      .buildCommand(
        displayName: "Embedding sql/",
        executable: try context.tool(named: "embed-sql").url,
        arguments: [folder.path, output.path],
        inputFiles: files + [folder],
        outputFiles: [output])
    ]
  }
}
