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

/// A library module with its imports, which run one way only: programs, then `Control`, `Worker` and `Gateway`, then the
/// queue, the endpoint and the images, then what speaks to others, then the loop, then `Support`. Only `analysisctl` may
/// import `Control`, which changes users, plans and pauses: the others cannot call what they cannot import.
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
  fuzzer("FuzzAnswer", ["Endpoint", "Support", "HTTPTransfer"]),
  fuzzer("FuzzImage", ["Images"]),
  fuzzer("FuzzProfile", ["Images"]),
  fuzzer("FuzzRepack", ["Images"]),
  fuzzer("FuzzManifest", ["Control", "CommandLineTool"]),
  fuzzer("FuzzConfiguration", ["Support"]),
  fuzzer("FuzzAddress", ["Control", "HTTPTransfer"]),
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
    systemLibrary("Cqrencode", "libqrencode", "libqrencode-dev"),

    // The SQL of sql/, compiled in.
    .executableTarget(name: "embed-sql", swiftSettings: strict),
    .plugin(name: "EmbedSQL", capability: .buildTool(), dependencies: ["embed-sql"]),

    // Libraries, lowest first.
    module("Support", ["Clinux", "Ccrypto"]),
    module("EventLoop", ["Support", "Clinux"]),
    module("HTTPServing", ["Support", "EventLoop", "Clinux", "Cmicrohttpd"]),
    module("PostgreSQL", ["Support", "EventLoop", "Clibpq", "Clinux"]),
    module("HTTPTransfer", ["Support", "EventLoop", "Ccurl"]),
    module(
      "Images",
      [
        "Support", "EventLoop", "Cturbojpeg", "Cjpeg", "Cpng", "Cexif", "Clcms2", "Czlib", "Csodium",
        "Ccrypto",
      ]),
    module("CommandLineTool", ["Support", "EventLoop", "PostgreSQL", "HTTPServing", "Images"]),
    module("Endpoint", ["Support", "PostgreSQL", "HTTPTransfer", "HTTPServing", "CommandLineTool"]),
    module("Queue", ["Support", "EventLoop", "PostgreSQL", "HTTPTransfer"], plugins: ["EmbedSQL"]),
    module(
      "Worker", ["Support", "EventLoop", "PostgreSQL", "HTTPTransfer", "Queue", "Endpoint", "Images"]),
    module(
      "Gateway",
      ["Support", "EventLoop", "PostgreSQL", "HTTPServing", "Queue", "Images"]),
    module(
      "Control",
      [
        "Support", "EventLoop", "PostgreSQL", "HTTPTransfer", "HTTPServing", "Queue", "Endpoint", "Images",
        "CommandLineTool", "Csystemd", "Cxlsxwriter", "Cqrencode", "Czlib",
      ]),
    module(
      "StandIn",
      ["Support", "CommandLineTool", "HTTPServing", "Clinux", "Cpng", "Cturbojpeg", "Csodium"]),

    // Programs.
    tool(
      "analysis-worker",
      [
        "Support", "EventLoop", "PostgreSQL", "HTTPTransfer", "HTTPServing", "Queue", "Images", "Endpoint",
        "Worker", "CommandLineTool",
      ]),
    tool(
      "analysis-gateway",
      ["Support", "EventLoop", "PostgreSQL", "HTTPServing", "Queue", "Images", "Gateway", "CommandLineTool"]),
    tool("analysisctl", ["Support", "CommandLineTool", "Control"]),
    tool("image-decoder", ["Support", "Images"]),
    tool("statement-printer", ["Support", "Cpango"]),
    tool("model-endpoint", ["Support", "StandIn"]),

    // Tests.
    .target(
      name: "TestSupport", dependencies: ["Support", "EventLoop", "PostgreSQL"],
      path: "Tests/TestSupport", swiftSettings: strict),
    .target(
      name: "QueueTestSupport",
      dependencies: ["Support", "EventLoop", "PostgreSQL", "Queue", "Control", "TestSupport"],
      path: "Tests/QueueTestSupport", swiftSettings: strict),
    // The thread that tests of a blocking client run on, and what a server under test is given.
    .target(
      name: "HTTPTestSupport", dependencies: ["HTTPServing", "TestSupport"],
      path: "Tests/HTTPTestSupport", swiftSettings: strict),
    tests("SupportTests", ["Support", "EventLoop", "CommandLineTool", "TestSupport"]),
    tests("EventLoopTests", ["EventLoop", "TestSupport"]),
    tests("HTTPServingTests", ["Support", "HTTPServing", "HTTPTestSupport", "TestSupport"]),
    tests("PostgreSQLTests", ["Support", "EventLoop", "PostgreSQL", "TestSupport"]),
    tests("HTTPTransferTests", ["HTTPTransfer", "EventLoop", "TestSupport"]),
    tests(
      "ImagesTests", ["Support", "EventLoop", "Images", "Clcms2", "Csodium", "TestSupport", "image-decoder"]),
    tests("CommandLineToolTests", ["CommandLineTool", "TestSupport"]),
    tests("EndpointTests", ["Support", "EventLoop", "HTTPTransfer", "Endpoint", "StandIn", "TestSupport"]),
    tests(
      "QueueTests",
      ["Support", "EventLoop", "PostgreSQL", "Queue", "Control", "TestSupport", "QueueTestSupport"]),
    tests(
      "WorkerTests",
      [
        "Support", "EventLoop", "PostgreSQL", "HTTPTransfer", "Queue", "Endpoint", "Images", "Worker",
        "Control",
        "Cturbojpeg", "TestSupport", "QueueTestSupport", "image-decoder",
      ]),
    tests(
      "GatewayTests",
      [
        "Support", "EventLoop", "PostgreSQL", "HTTPServing", "Queue", "Images", "Gateway", "HTTPTestSupport",
        "TestSupport", "QueueTestSupport",
      ]),
    tests(
      "ControlTests",
      [
        "Support", "EventLoop", "PostgreSQL", "HTTPTransfer", "HTTPServing", "Queue", "Endpoint", "Images",
        "Worker", "Gateway", "Control", "StandIn", "CommandLineTool", "HTTPTestSupport", "TestSupport",
        "QueueTestSupport", "analysis-gateway", "image-decoder", "statement-printer",
      ]),
    tests(
      "StandInTests",
      ["Support", "StandIn", "Cturbojpeg", "HTTPTestSupport", "TestSupport", "model-endpoint"]),
    tests(
      "AttackTests",
      [
        "Support", "EventLoop", "PostgreSQL", "HTTPServing", "Queue", "Images", "Gateway", "Control",
        "StandIn",
        "CommandLineTool", "HTTPTestSupport", "TestSupport", "QueueTestSupport", "analysis-worker",
        "analysisctl", "image-decoder",
      ]),
    tests(
      "IntegrationTests",
      [
        "Support", "EventLoop", "PostgreSQL", "HTTPTransfer", "Queue", "Endpoint", "Images", "Worker",
        "Control",
        "HTTPTestSupport", "TestSupport", "QueueTestSupport", "analysis-gateway", "analysis-worker",
        "analysisctl", "image-decoder", "model-endpoint", "statement-printer",
      ]),

    // Cleans one picture, for `scripts/measure-pictures`.
    .executableTarget(
      name: "clean-picture", dependencies: ["Images"], path: "Tests/Pictures", swiftSettings: strict),

    // The torture run, by `scripts/torture`.
    .target(
      name: "TortureKit",
      dependencies: [
        "Support", "EventLoop", "PostgreSQL", "Queue", "Images", "Worker", "Control", "StandIn",
        "CommandLineTool", "Clinux", "TestSupport",
      ],
      path: "Tests/Torture/Kit", swiftSettings: strict),
    .executableTarget(
      name: "torture",
      dependencies: [
        "Support", "CommandLineTool", "TortureKit", "analysis-worker", "analysisctl", "image-decoder",
        "model-endpoint",
      ],
      path: "Tests/Torture/Program", swiftSettings: strict),
    // The benchmarks, by `scripts/bench`.
    .target(
      name: "BenchmarkKit",
      dependencies: [
        "Support", "EventLoop", "PostgreSQL", "Queue", "Control", "CommandLineTool", "Ccurl", "TestSupport",
      ],
      path: "Benchmarks/Kit", swiftSettings: strict),
    .target(
      name: "BenchmarkDay", dependencies: ["Support"], path: "Benchmarks/Day", swiftSettings: strict),
    .target(
      name: "BenchmarkRows",
      dependencies: [
        "Support", "EventLoop", "PostgreSQL", "Queue", "Endpoint", "Images", "Control", "CommandLineTool",
        "BenchmarkDay", "BenchmarkKit", "Cturbojpeg", "TestSupport",
      ],
      path: "Benchmarks/Rows", swiftSettings: strict),
    .executableTarget(
      name: "benchmarks",
      dependencies: [
        "Support", "BenchmarkRows", "CommandLineTool", "analysis-gateway", "analysis-worker", "analysisctl",
        "image-decoder", "model-endpoint", "statement-printer",
      ],
      path: "Benchmarks/Program", swiftSettings: strict),
    tests(
      "BenchmarkTests",
      [
        "Support", "EventLoop", "PostgreSQL", "Queue", "Endpoint", "Images", "BenchmarkDay", "BenchmarkKit",
        "BenchmarkRows", "CommandLineTool", "TestSupport", "analysis-worker", "image-decoder",
        "model-endpoint",
      ]),
    tests("TortureTests", ["TortureKit", "Support", "StandIn", "TestSupport"]),
  ] + (isFuzzing ? fuzzers : []),
  swiftLanguageModes: [.v6]
)

// With `ANALYSIS_LIBPQ` set (`scripts/check-libpq` does it), only what speaks to libpq is there, to be tested with another
// one than the system's.
if Context.environment["ANALYSIS_LIBPQ"] != nil {
  let kept = [
    "Clinux", "Clibpq", "Ccrypto", "Support", "EventLoop", "PostgreSQL", "TestSupport", "PostgreSQLTests",
  ]
  package.products = []
  package.targets.removeAll { !kept.contains($0.name) }
}
