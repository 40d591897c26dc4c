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

/// A library module with its imports, which run one way only: executables, then `ControlCommands` and `Worker`, then
/// `Doctor` and `Reports`, then the queue, the client and the images, then the two transports, then the loop.
func module(
  _ name: String, _ dependencies: [Target.Dependency] = [], plugins: [Target.PluginUsage] = []
) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict + fuzzed, plugins: plugins)
}

/// A program that is installed. All that it calls of a library is looked up when it starts, so that the table of it can
/// be made read-only before anything foreign is read.
func tool(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, swiftSettings: strict,
    linkerSettings: [
      .unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now", "-Xlinker", "-z", "-Xlinker", "relro"])
    ])
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
  fuzzer("FuzzManifest", ["ControlCommands", "CommandLineTool"]),
  fuzzer("FuzzConfiguration", ["System"]),
  fuzzer("FuzzAddress", ["RemoteImages", "NetworkAddresses", "HTTPTransfer"]),
]

func systemLibrary(_ name: String, _ pkgConfig: String, _ package: String) -> Target {
  .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([package])])
}

let package = Package(
  name: "analysis-queue",
  products: [
    .executable(name: "analysis-worker", targets: ["analysis-worker"]),
    .executable(name: "analysis-gateway", targets: ["analysis-gateway"]),
    .executable(name: "analysisctl", targets: ["analysisctl"]),
    .executable(name: "image-decoder", targets: ["image-decoder"]),
    .executable(name: "statement-printer", targets: ["statement-printer"]),
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
    systemLibrary("Cjpeg", "libjpeg", "libjpeg-dev"),
    systemLibrary("Cpng", "libpng", "libpng-dev"),
    systemLibrary("Cexif", "libexif", "libexif-dev"),
    systemLibrary("Clcms2", "lcms2", "liblcms2-dev"),
    systemLibrary("Czlib", "zlib", "zlib1g-dev"),
    systemLibrary("Csodium", "libsodium", "libsodium-dev"),
    systemLibrary("Ccrypto", "libcrypto", "libssl-dev"),
    systemLibrary("Csystemd", "libsystemd", "libsystemd-dev"),
    systemLibrary("Cpango", "pangocairo", "libpango1.0-dev"),
    systemLibrary("Cxlsxwriter", "xlsxwriter", "libxlsxwriter-dev"),

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
    module("Logging", ["Formatting"]),
    module("Monitoring", ["Formatting"]),
    module("HTTPServing", ["Formatting", "EventLoop", "Clinux", "Cmicrohttpd"]),
    module("System", ["Formatting", "Clinux", "Ccrypto"]),
    module("Journal", ["System", "Csystemd"]),
    module("Markup", ["Formatting"]),
    module("Statements", ["AnalysisCore", "Formatting", "Markup"]),
    module("StatementPrinting", ["AnalysisCore", "Formatting", "Markup", "Statements", "Cpango"]),
    module("PostgreSQL", ["Formatting", "Clibpq", "Clinux", "EventLoop"]),
    module("HTTPTransfer", ["Formatting", "Ccurl", "EventLoop"]),
    module("NetworkAddresses", ["EventLoop"]),
    module("Images", ["AnalysisCore", "System", "Cturbojpeg", "Cjpeg", "Cpng", "Cexif", "Clcms2", "Czlib"]),
    module("ImageDecoding", ["AnalysisCore", "Images", "System", "EventLoop"]),
    module("ImageEncryption", ["Formatting", "System", "Csodium", "Ccrypto"]),
    module(
      "RemoteImages",
      [
        "AnalysisCore", "Formatting", "System", "EventLoop", "NetworkAddresses", "HTTPTransfer",
        "ImageEncryption",
      ]),
    module("ModelClient", ["AnalysisCore", "Formatting", "System", "HTTPTransfer"]),
    module(
      "JobQueue", ["AnalysisCore", "Formatting", "System", "EventLoop", "PostgreSQL", "SQLFiles"]),
    module(
      "Administration",
      ["AnalysisCore", "Formatting", "System", "Journal", "EventLoop", "PostgreSQL", "SQLFiles", "JobQueue"]),
    module(
      "Reports",
      [
        "AnalysisCore", "Formatting", "Markup", "Statements", "System", "PostgreSQL", "SQLFiles",
        "Cxlsxwriter", "Czlib",
      ]),
    module(
      "Worker",
      [
        "AnalysisCore", "Formatting", "Logging", "Monitoring", "System", "EventLoop", "PostgreSQL",
        "NetworkAddresses", "HTTPTransfer", "JobQueue",
        "ModelClient", "Images", "ImageDecoding", "ImageEncryption",
      ]),
    module("CommandLineTool", ["Formatting"]),
    module(
      "Programs",
      [
        "System", "EventLoop", "PostgreSQL", "ImageEncryption", "Logging", "Monitoring", "HTTPServing",
        "CommandLineTool",
      ]),
    module(
      "Gateway",
      [
        "AnalysisCore", "Formatting", "Logging", "Monitoring", "System", "EventLoop", "PostgreSQL",
        "SQLFiles",
        "HTTPServing", "JobQueue", "Images", "ImageDecoding", "ImageEncryption", "Programs",
        "CommandLineTool",
      ]),
    module(
      "WorkerSettings",
      [
        "AnalysisCore", "System", "PostgreSQL", "HTTPTransfer", "HTTPServing", "ModelClient",
        "Programs", "CommandLineTool",
      ]),
    module(
      "Doctor",
      [
        "AnalysisCore", "Formatting", "System", "PostgreSQL", "SQLFiles", "JobQueue", "Administration",
        "ImageEncryption", "HTTPTransfer", "ModelClient", "WorkerSettings", "CommandLineTool",
      ]),
    module(
      "Dashboard",
      [
        "AnalysisCore", "Formatting", "HTTPServing", "Markup", "System", "PostgreSQL", "JobQueue",
        "Administration", "Reports",
      ]),
    module(
      "ControlCommands",
      [
        "AnalysisCore", "Dashboard", "Formatting", "Markup", "Logging", "Monitoring", "HTTPServing", "System",
        "EventLoop",
        "PostgreSQL", "JobQueue",
        "Administration", "Images", "ImageDecoding", "ImageEncryption", "HTTPTransfer", "ModelClient",
        "RemoteImages", "Reports", "Statements", "Doctor", "WorkerSettings", "Programs", "CommandLineTool",
      ]),
    module("DevelopmentEndpoint", ["Formatting", "Clinux", "HTTPServing", "Cpng", "Cturbojpeg", "Csodium"]),

    // Executables.
    tool(
      "analysis-worker",
      [
        "AnalysisCore", "Logging", "Monitoring", "System", "EventLoop", "PostgreSQL", "HTTPTransfer",
        "HTTPServing", "ImageEncryption", "ModelClient", "Worker", "WorkerSettings", "Programs",
        "CommandLineTool",
      ]),
    tool(
      "analysis-gateway",
      [
        "Gateway", "Formatting", "Logging", "Monitoring", "System", "EventLoop", "PostgreSQL", "HTTPServing",
        "JobQueue", "Images", "ImageEncryption", "Programs", "CommandLineTool",
      ]),
    tool("analysisctl", ["CommandLineTool", "ControlCommands", "System"]),
    tool("image-decoder", ["Images", "System"]),
    tool("statement-printer", ["StatementPrinting", "Statements", "System"]),
    tool("model-endpoint", ["AnalysisCore", "CommandLineTool", "DevelopmentEndpoint", "System"]),

    // Tests.
    .target(
      name: "TestSupport",
      dependencies: ["EventLoop", "System", "PostgreSQL"],
      path: "Tests/TestSupport", swiftSettings: strict),
    .target(
      name: "QueueTestSupport",
      dependencies: [
        "AnalysisCore", "System", "EventLoop", "PostgreSQL", "JobQueue", "Administration", "TestSupport",
      ],
      path: "Tests/QueueTestSupport", swiftSettings: strict),
    // The thread that tests of a blocking client run on, and what a server under test is given.
    .target(
      name: "HTTPTestSupport",
      dependencies: ["HTTPServing", "TestSupport"],
      path: "Tests/HTTPTestSupport", swiftSettings: strict),
    tests("AnalysisCoreTests", ["AnalysisCore", "System", "TestSupport"]),
    tests("FormattingTests", ["Formatting", "TestSupport"]),
    tests("EventLoopTests", ["EventLoop", "TestSupport"]),
    tests("MarkupTests", ["Markup"]),
    tests("LoggingTests", ["Formatting", "Logging", "System", "TestSupport"]),
    tests("MonitoringTests", ["Formatting", "Monitoring", "TestSupport"]),
    tests("HTTPServingTests", ["Formatting", "HTTPServing", "HTTPTestSupport", "TestSupport"]),
    tests("SystemTests", ["EventLoop", "Formatting", "Programs", "System", "TestSupport"]),
    tests("PostgreSQLTests", ["PostgreSQL", "Formatting", "EventLoop", "TestSupport"]),
    tests("HTTPTransferTests", ["HTTPTransfer", "EventLoop", "TestSupport"]),
    tests("ImagesTests", ["Images", "System", "Clcms2", "TestSupport"]),
    tests(
      "ImageDecodingTests",
      ["ImageDecoding", "AnalysisCore", "Images", "EventLoop", "TestSupport", "image-decoder"]),
    tests("ImageEncryptionTests", ["ImageEncryption", "System", "Csodium", "TestSupport"]),
    tests(
      "RemoteImagesTests",
      [
        "RemoteImages", "ImageEncryption", "System", "EventLoop", "NetworkAddresses", "HTTPTransfer",
        "TestSupport",
      ]),
    tests("NetworkAddressesTests", ["NetworkAddresses", "EventLoop", "TestSupport"]),
    tests(
      "ModelClientTests",
      [
        "ModelClient", "AnalysisCore", "Formatting", "Logging", "System", "EventLoop", "HTTPTransfer",
        "DevelopmentEndpoint", "TestSupport",
      ]),
    tests(
      "JobQueueTests",
      [
        "JobQueue", "Administration", "AnalysisCore", "Formatting", "System", "EventLoop", "PostgreSQL",
        "SQLFiles", "TestSupport", "QueueTestSupport",
      ]),
    tests(
      "AdministrationTests",
      [
        "Administration", "JobQueue", "AnalysisCore", "Formatting", "System", "EventLoop", "PostgreSQL",
        "TestSupport", "QueueTestSupport",
      ]),
    tests(
      "ReportsTests",
      [
        "Reports", "StatementPrinting", "Statements", "AnalysisCore", "Formatting", "JobQueue", "EventLoop",
        "PostgreSQL", "System", "TestSupport", "QueueTestSupport", "statement-printer",
      ]),
    tests(
      "WorkerTests",
      [
        "Worker", "Administration", "AnalysisCore", "Formatting", "Logging", "Monitoring", "System",
        "JobQueue", "ModelClient",
        "HTTPTransfer", "NetworkAddresses", "EventLoop",
        "PostgreSQL", "Images", "ImageDecoding", "ImageEncryption", "Cturbojpeg", "TestSupport",
        "QueueTestSupport", "image-decoder",
      ]),
    tests("CommandLineToolTests", ["CommandLineTool", "TestSupport"]),
    tests("DoctorTests", ["Doctor", "JobQueue", "Administration", "ModelClient"]),
    tests(
      "DashboardTests",
      [
        "Dashboard", "Administration", "AnalysisCore", "EventLoop", "Formatting", "HTTPServing",
        "HTTPTestSupport", "JobQueue", "Markup", "PostgreSQL", "QueueTestSupport", "System", "TestSupport",
      ]),
    tests(
      "ControlCommandsTests",
      [
        "ControlCommands", "Dashboard", "Gateway", "CommandLineTool", "AnalysisCore", "Formatting", "Markup",
        "Logging", "System", "EventLoop",
        "PostgreSQL", "JobQueue", "Administration", "Images", "ImageDecoding", "ImageEncryption",
        "ModelClient", "NetworkAddresses", "RemoteImages", "Doctor", "WorkerSettings", "DevelopmentEndpoint",
        "Monitoring", "Programs", "SQLFiles", "Worker",
        "TestSupport", "QueueTestSupport",
        "image-decoder", "statement-printer",
      ]),
    tests(
      "DevelopmentEndpointTests",
      [
        "DevelopmentEndpoint", "Formatting", "Cturbojpeg", "model-endpoint", "HTTPTestSupport", "TestSupport",
      ]),
    tests(
      "AttackTests",
      [
        "Administration", "AnalysisCore", "Dashboard", "DevelopmentEndpoint", "EventLoop", "Gateway",
        "HTTPServing",
        "HTTPTestSupport", "ImageEncryption", "JobQueue", "Logging", "Monitoring", "PostgreSQL", "Programs",
        "QueueTestSupport", "System", "TestSupport", "analysis-worker", "analysisctl", "image-decoder",
      ]),
    tests(
      "GatewayTests",
      [
        "AnalysisCore", "EventLoop", "Gateway", "Formatting", "HTTPServing", "HTTPTestSupport",
        "ImageEncryption",
        "JobQueue", "Logging", "PostgreSQL", "TestSupport",
      ]),
    tests(
      "IntegrationTests",
      [
        "AnalysisCore", "Administration", "EventLoop", "PostgreSQL", "JobQueue", "Images", "ImageEncryption",
        "HTTPTransfer", "ModelClient", "System", "Worker", "HTTPTestSupport", "TestSupport",
        "QueueTestSupport",
        "analysis-gateway", "analysis-worker", "analysisctl", "image-decoder", "model-endpoint",
        "statement-printer",
      ]),

    // Cleans one picture, for `scripts/measure-pictures`.
    .executableTarget(
      name: "clean-picture", dependencies: ["Images"], path: "Tests/Pictures", swiftSettings: strict),

    // The torture run, by `scripts/torture`.
    .target(
      name: "TortureKit",
      dependencies: [
        "Administration", "AnalysisCore", "Clinux", "CommandLineTool", "DevelopmentEndpoint", "EventLoop",
        "Images",
        "JobQueue", "System", "PostgreSQL", "TestSupport", "Worker",
      ],
      path: "Tests/Torture/Kit", swiftSettings: strict),
    .executableTarget(
      name: "torture",
      dependencies: [
        "AnalysisCore", "CommandLineTool", "TortureKit", "analysis-worker", "analysisctl", "image-decoder",
        "model-endpoint",
      ],
      path: "Tests/Torture/Program", swiftSettings: strict),
    // The benchmarks, by `scripts/bench`.
    .target(
      name: "BenchmarkKit",
      dependencies: [
        "Administration", "Ccurl", "CommandLineTool", "EventLoop", "JobQueue", "PostgreSQL", "System",
        "TestSupport",
      ],
      path: "Benchmarks/Kit", swiftSettings: strict),
    .target(
      name: "BenchmarkDay", dependencies: ["System"], path: "Benchmarks/Day", swiftSettings: strict),
    .target(
      name: "BenchmarkRows",
      dependencies: [
        "Administration", "AnalysisCore", "BenchmarkDay", "BenchmarkKit", "CommandLineTool", "Cturbojpeg",
        "EventLoop",
        "ImageDecoding", "ImageEncryption", "Images", "JobQueue", "ModelClient", "System", "PostgreSQL",
        "SQLFiles",
        "TestSupport",
      ],
      path: "Benchmarks/Rows", swiftSettings: strict),
    .executableTarget(
      name: "benchmarks",
      dependencies: [
        "AnalysisCore", "BenchmarkRows", "CommandLineTool", "System", "analysis-gateway", "analysis-worker",
        "analysisctl", "image-decoder", "model-endpoint", "statement-printer",
      ],
      path: "Benchmarks/Program", swiftSettings: strict),
    tests(
      "BenchmarkTests",
      [
        "AnalysisCore", "BenchmarkDay", "BenchmarkKit", "BenchmarkRows", "CommandLineTool", "EventLoop",
        "Images", "JobQueue", "ModelClient",
        "PostgreSQL", "TestSupport", "analysis-worker", "image-decoder", "model-endpoint",
      ]),
    tests(
      "TortureTests", ["TortureKit", "AnalysisCore", "DevelopmentEndpoint", "TestSupport"]),
  ] + (isFuzzing ? fuzzers : []),
  swiftLanguageModes: [.v6]
)

// With `ANALYSIS_LIBPQ` set (`scripts/check-libpq` does it), only what speaks to libpq is there, to be tested with another
// one than the system's.
if Context.environment["ANALYSIS_LIBPQ"] != nil {
  let kept = [
    "Clinux", "Clibpq", "Ccrypto", "Formatting", "EventLoop", "System", "PostgreSQL", "TestSupport",
    "PostgreSQLTests",
  ]
  package.products = []
  package.targets.removeAll { !kept.contains($0.name) }
}
