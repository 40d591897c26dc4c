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

/// With `ANALYSIS_FUZZ` set (`scripts/fuzz` does it), the modules are built for libFuzzer, and its programs are
/// there: the toolchain's flags for it may stand only where nobody else's package could depend on them.
let isFuzzing = Context.environment["ANALYSIS_FUZZ"] != nil
let fuzzed: [SwiftSetting] = isFuzzing ? [.unsafeFlags(["-sanitize=fuzzer,address", "-enable-testing"])] : []

/// A library module with its imports, which run one way only: executables, then `Worker` and
/// `Reports`, then the queue, the client and the images, then the two transports, then the loop.
func module(
  _ name: String, _ dependencies: [Target.Dependency] = [], plugins: [Target.PluginUsage] = []
) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict + fuzzed, plugins: plugins)
}

func tool(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// A program for libFuzzer. The default linker cannot link it.
func fuzzer(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies + ["FuzzSupport"], path: "Tests/Fuzz/\(name)",
    swiftSettings: strict + fuzzed + [.unsafeFlags(["-parse-as-library"])],
    linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])])
}

let fuzzers: [Target] = [
  .systemLibrary(name: "Cfuzzer", path: "Tests/Fuzz/Cfuzzer"),
  .target(
    name: "FuzzSupport", dependencies: ["Cfuzzer"], path: "Tests/Fuzz/FuzzSupport",
    swiftSettings: strict + fuzzed),
  fuzzer("FuzzAnswer", ["ModelClient", "AnalysisCore", "HTTPTransfer"]),
  fuzzer("FuzzImage", ["Images"]),
  fuzzer("FuzzProfile", ["Images"]),
  fuzzer("FuzzRepack", ["Images"]),
  fuzzer("FuzzManifest", ["ControlCommands"]),
  fuzzer("FuzzConfiguration", ["Operations"]),
  fuzzer("FuzzAddress", ["RemoteImages", "HTTPTransfer"]),
]

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
    systemLibrary("Clcms2", "lcms2", "liblcms2-dev"),
    systemLibrary("Czlib", "zlib", "zlib1g-dev"),
    systemLibrary("Csodium", "libsodium", "libsodium-dev"),
    systemLibrary("Ccrypto", "libcrypto", "libssl-dev"),

    // The SQL of sql/, compiled in.
    .executableTarget(
      name: "embed-sql", path: "Sources/EmbedSQLTool", swiftSettings: strict),
    .plugin(
      name: "EmbedSQL", capability: .buildTool(), dependencies: ["embed-sql"],
      path: "Sources/EmbedSQLPlugin"),
    module("SQLFiles", plugins: ["EmbedSQL"]),

    // Libraries, lowest first.
    module("AnalysisCore"),
    module("Formatting"),
    module("EventLoop", ["Formatting", "Clinux"]),
    module("Operations", ["Formatting", "Clinux", "Ccrypto"]),
    module("PostgreSQL", ["Formatting", "Clibpq", "Clinux", "EventLoop"]),
    module("HTTPTransfer", ["Formatting", "Ccurl", "EventLoop"]),
    module("Images", ["AnalysisCore", "Operations", "Cturbojpeg", "Cpng", "Cexif", "Clcms2", "Czlib"]),
    module("ImageEncryption", ["Formatting", "Operations", "Csodium", "Ccrypto"]),
    module(
      "RemoteImages",
      ["AnalysisCore", "Formatting", "Operations", "EventLoop", "HTTPTransfer", "ImageEncryption"]),
    module("ModelClient", ["AnalysisCore", "Formatting", "Operations", "HTTPTransfer"]),
    module(
      "JobQueue", ["AnalysisCore", "Formatting", "Operations", "EventLoop", "PostgreSQL", "SQLFiles"]),
    module("Reports", ["AnalysisCore", "Formatting", "Operations", "PostgreSQL", "SQLFiles"]),
    module(
      "Worker",
      [
        "AnalysisCore", "Formatting", "Operations", "EventLoop", "PostgreSQL", "HTTPTransfer", "JobQueue",
        "ModelClient", "Images", "ImageEncryption",
      ]),
    module("CommandLineTool", ["Formatting"]),
    module(
      "WorkerSettings",
      [
        "AnalysisCore", "Operations", "PostgreSQL", "HTTPTransfer", "ImageEncryption", "ModelClient",
        "CommandLineTool",
      ]),
    module(
      "ControlCommands",
      [
        "AnalysisCore", "Formatting", "Operations", "EventLoop", "PostgreSQL", "SQLFiles", "JobQueue",
        "Images",
        "ImageEncryption", "RemoteImages", "Reports", "HTTPTransfer", "ModelClient", "WorkerSettings",
        "CommandLineTool",
      ]),
    module("DevelopmentEndpoint", ["Formatting", "Clinux", "Cmicrohttpd", "Cturbojpeg", "Csodium"]),

    // Executables.
    tool(
      "analysis-worker",
      [
        "AnalysisCore", "Operations", "EventLoop", "PostgreSQL", "HTTPTransfer", "ImageEncryption",
        "ModelClient", "Worker", "WorkerSettings", "CommandLineTool",
      ]),
    tool("analysisctl", ["CommandLineTool", "ControlCommands", "Operations"]),
    tool("model-endpoint", ["AnalysisCore", "CommandLineTool", "DevelopmentEndpoint", "Operations"]),

    // Tests.
    .target(
      name: "TestSupport",
      dependencies: ["EventLoop", "Operations", "PostgreSQL"],
      path: "Tests/TestSupport", swiftSettings: strict),
    tests("AnalysisCoreTests", ["AnalysisCore", "Operations", "TestSupport"]),
    tests("FormattingTests", ["Formatting", "TestSupport"]),
    tests("EventLoopTests", ["EventLoop", "TestSupport"]),
    tests("OperationsTests", ["Formatting", "Operations", "TestSupport"]),
    tests("PostgreSQLTests", ["PostgreSQL", "Formatting", "EventLoop", "TestSupport"]),
    tests("HTTPTransferTests", ["HTTPTransfer", "EventLoop", "TestSupport"]),
    tests("ImagesTests", ["Images", "Operations", "Clcms2", "TestSupport"]),
    tests("ImageEncryptionTests", ["ImageEncryption", "Operations", "Csodium", "TestSupport"]),
    tests(
      "RemoteImagesTests",
      ["RemoteImages", "ImageEncryption", "Operations", "EventLoop", "HTTPTransfer", "TestSupport"]),
    tests(
      "ModelClientTests",
      ["ModelClient", "AnalysisCore", "Formatting", "Operations", "EventLoop", "HTTPTransfer", "TestSupport"]),
    tests(
      "JobQueueTests",
      [
        "JobQueue", "AnalysisCore", "Formatting", "Operations", "EventLoop", "PostgreSQL", "SQLFiles",
        "TestSupport",
      ]),
    tests(
      "ReportsTests",
      ["Reports", "AnalysisCore", "Formatting", "JobQueue", "EventLoop", "PostgreSQL", "TestSupport"]),
    tests(
      "WorkerTests",
      [
        "Worker", "AnalysisCore", "Operations", "JobQueue", "ModelClient", "HTTPTransfer", "EventLoop",
        "PostgreSQL", "Images", "ImageEncryption", "Cturbojpeg", "TestSupport",
      ]),
    tests("CommandLineToolTests", ["CommandLineTool", "TestSupport"]),
    tests(
      "ControlCommandsTests",
      [
        "ControlCommands", "CommandLineTool", "AnalysisCore", "Formatting", "Operations", "EventLoop",
        "PostgreSQL", "JobQueue", "Images", "ImageEncryption", "RemoteImages", "WorkerSettings",
        "TestSupport",
      ]),
    tests(
      "DevelopmentEndpointTests",
      ["DevelopmentEndpoint", "Formatting", "Cturbojpeg", "model-endpoint", "TestSupport"]),
    tests(
      "IntegrationTests",
      [
        "AnalysisCore", "EventLoop", "PostgreSQL", "JobQueue", "Images", "Worker",
        "TestSupport", "analysis-worker", "analysisctl", "model-endpoint",
      ]),

    // Cleans one picture, for `scripts/measure-pictures`.
    .executableTarget(
      name: "clean-picture", dependencies: ["Images"], path: "Tests/Pictures", swiftSettings: strict),

    // The torture run, by `scripts/torture`.
    .target(
      name: "TortureKit",
      dependencies: [
        "AnalysisCore", "Clinux", "CommandLineTool", "DevelopmentEndpoint", "EventLoop", "Images",
        "JobQueue", "Operations", "PostgreSQL", "TestSupport", "Worker",
      ],
      path: "Tests/Torture/Kit", swiftSettings: strict),
    .executableTarget(
      name: "torture",
      dependencies: [
        "AnalysisCore", "CommandLineTool", "TortureKit", "analysis-worker", "analysisctl", "model-endpoint",
      ],
      path: "Tests/Torture/Program", swiftSettings: strict),
    // The benchmarks, by `scripts/bench`.
    .target(
      name: "BenchmarkKit",
      dependencies: ["Ccurl", "CommandLineTool", "EventLoop", "JobQueue", "PostgreSQL", "TestSupport"],
      path: "Benchmarks/Kit", swiftSettings: strict),
    .target(
      name: "BenchmarkDay", dependencies: ["Operations"], path: "Benchmarks/Day", swiftSettings: strict),
    .target(
      name: "BenchmarkRows",
      dependencies: [
        "AnalysisCore", "BenchmarkDay", "BenchmarkKit", "CommandLineTool", "Cturbojpeg", "EventLoop",
        "ImageEncryption", "Images", "JobQueue", "ModelClient", "Operations", "PostgreSQL", "SQLFiles",
        "TestSupport",
      ],
      path: "Benchmarks/Rows", swiftSettings: strict),
    .executableTarget(
      name: "benchmarks",
      dependencies: [
        "AnalysisCore", "BenchmarkRows", "CommandLineTool", "Operations", "analysis-worker", "analysisctl",
        "model-endpoint",
      ],
      path: "Benchmarks/Program", swiftSettings: strict),
    tests(
      "BenchmarkTests",
      [
        "AnalysisCore", "BenchmarkDay", "BenchmarkKit", "BenchmarkRows", "CommandLineTool", "EventLoop",
        "Images", "JobQueue", "ModelClient",
        "PostgreSQL", "TestSupport", "analysis-worker", "model-endpoint",
      ]),
    tests(
      "TortureTests", ["TortureKit", "AnalysisCore", "DevelopmentEndpoint", "Operations", "TestSupport"]),
  ] + (isFuzzing ? fuzzers : []),
  swiftLanguageModes: [.v6]
)
