// swift-tools-version: 6.2
import PackageDescription

/// Every target of ours is built as strictly as the toolchain allows: a warning is an error, and a C
/// type that leaks through an internal import does not compile.
let strict: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// A library module with its imports, which run one way only: executables, then `Worker` and
/// `Reports`, then the queue, the client and the images, then the two transports, then the loop.
func module(
  _ name: String, _ dependencies: [Target.Dependency] = [], plugins: [Target.PluginUsage] = []
) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict, plugins: plugins)
}

func tool(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func systemLibrary(_ name: String, _ pkgConfig: String, _ package: String) -> Target {
  .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([package])])
}

let package = Package(
  name: "analysis-queue",
  products: [
    .executable(name: "analysis-worker", targets: ["analysis-worker"]),
    .executable(name: "analysisctl", targets: ["analysisctl"]),
    .executable(name: "model-endpoint", targets: ["model-endpoint"]),
    .library(name: "PostgreSQL", targets: ["PostgreSQL"]),
    .library(name: "HTTPTransfer", targets: ["HTTPTransfer"]),
  ],
  targets: [
    // C libraries, each behind one Swift face.
    .systemLibrary(name: "Clinux"),
    systemLibrary("Clibpq", "libpq", "libpq-dev"),
    systemLibrary("Ccurl", "libcurl", "libcurl4-openssl-dev"),
    systemLibrary("Cmicrohttpd", "libmicrohttpd", "libmicrohttpd-dev"),
    systemLibrary("Cturbojpeg", "libturbojpeg", "libturbojpeg0-dev"),
    systemLibrary("Cpng", "libpng", "libpng-dev"),
    systemLibrary("Cexif", "libexif", "libexif-dev"),
    systemLibrary("Csodium", "libsodium", "libsodium-dev"),

    // The SQL of sql/, compiled in.
    .executableTarget(
      name: "embed-sql", path: "Sources/EmbedSQLTool", swiftSettings: strict),
    .plugin(
      name: "EmbedSQL", capability: .buildTool(), dependencies: ["embed-sql"],
      path: "Sources/EmbedSQLPlugin"),
    module("SQLFiles", plugins: ["EmbedSQL"]),

    // Libraries, lowest first.
    module("AnalysisCore"),
    module("EventLoop", ["Clinux"]),
    module("Operations", ["Clinux", "Csodium"]),
    module("PostgreSQL", ["Clibpq", "EventLoop"]),
    module("HTTPTransfer", ["Ccurl", "EventLoop"]),
    module("Images", ["Cturbojpeg", "Cpng", "Cexif", "Csodium"]),
    module("ModelClient", ["AnalysisCore", "Operations", "HTTPTransfer"]),
    module(
      "JobQueue", ["AnalysisCore", "Operations", "EventLoop", "PostgreSQL", "SQLFiles", "Csodium"]),
    module("Reports", ["AnalysisCore", "Operations", "PostgreSQL", "SQLFiles", "Csodium"]),
    module(
      "Worker",
      [
        "AnalysisCore", "Operations", "EventLoop", "PostgreSQL", "HTTPTransfer", "JobQueue",
        "ModelClient", "Images",
      ]),
    module("CommandLineTool"),
    module(
      "ControlCommands",
      [
        "AnalysisCore", "Operations", "EventLoop", "PostgreSQL", "JobQueue", "Images", "Reports",
        "CommandLineTool",
      ]),
    module("DevelopmentEndpoint", ["Clinux", "Cmicrohttpd", "Cturbojpeg", "Csodium"]),

    // Executables.
    tool(
      "analysis-worker",
      [
        "AnalysisCore", "Operations", "EventLoop", "PostgreSQL", "HTTPTransfer", "ModelClient",
        "Worker", "CommandLineTool",
      ]),
    tool("analysisctl", ["CommandLineTool", "ControlCommands", "Operations"]),
    tool("model-endpoint", ["AnalysisCore", "CommandLineTool", "DevelopmentEndpoint", "Operations"]),

    // Tests.
    .target(
      name: "TestSupport",
      dependencies: ["EventLoop", "PostgreSQL"],
      path: "Tests/TestSupport", swiftSettings: strict),
    tests("AnalysisCoreTests", ["AnalysisCore"]),
    tests("EventLoopTests", ["EventLoop"]),
    tests("OperationsTests", ["Operations"]),
    tests("PostgreSQLTests", ["PostgreSQL", "EventLoop", "TestSupport"]),
    tests("HTTPTransferTests", ["HTTPTransfer", "EventLoop", "TestSupport"]),
    tests("ImagesTests", ["Images", "TestSupport"]),
    tests(
      "ModelClientTests",
      ["ModelClient", "AnalysisCore", "Operations", "EventLoop", "HTTPTransfer", "TestSupport"]),
    tests(
      "JobQueueTests", ["JobQueue", "AnalysisCore", "EventLoop", "PostgreSQL", "SQLFiles", "TestSupport"]),
    tests("ReportsTests", ["Reports", "AnalysisCore", "JobQueue", "EventLoop", "PostgreSQL", "TestSupport"]),
    tests(
      "WorkerTests",
      [
        "Worker", "AnalysisCore", "Operations", "JobQueue", "ModelClient", "HTTPTransfer", "EventLoop",
        "PostgreSQL", "SQLFiles", "Images", "Cturbojpeg", "TestSupport",
      ]),
    tests("CommandLineToolTests", ["CommandLineTool", "TestSupport"]),
    tests(
      "ControlCommandsTests",
      [
        "ControlCommands", "CommandLineTool", "AnalysisCore", "Operations", "EventLoop", "PostgreSQL",
        "JobQueue", "Images", "TestSupport",
      ]),
    tests(
      "DevelopmentEndpointTests", ["DevelopmentEndpoint", "Cturbojpeg", "model-endpoint", "TestSupport"]),
    tests(
      "IntegrationTests",
      [
        "AnalysisCore", "EventLoop", "PostgreSQL", "JobQueue", "Images", "TestSupport",
        "analysis-worker", "analysisctl", "model-endpoint",
      ]),
  ],
  swiftLanguageModes: [.v6]
)
