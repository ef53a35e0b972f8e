// swift-tools-version: 6.2
import PackageDescription

// One target is one room. A room may import only rooms that stand above it in this list;
// the dependencies below are what enforces it.

let rules: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
]

func library(_ name: String, package: String, debian: String) -> Target {
    .systemLibrary(name: name, path: "Sources/\(name)", pkgConfig: package, providers: [.apt([debian])])
}

func room(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/\(name)", swiftSettings: rules)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/\(name)", resources: resources, swiftSettings: rules)
}

let package = Package(
    name: "hermes",
    products: [
        .executable(name: "hermes", targets: ["hermes"]),
        // What applications are written with
        .library(name: "Hermes", targets: ["Hermes"]),
    ],
    targets: [
        // C libraries
        .target(name: "CLinux", path: "Sources/CLinux"),
        library("CLibPQ", package: "libpq", debian: "libpq-dev"),
        library("CMicrohttpd", package: "libmicrohttpd", debian: "libmicrohttpd-dev"),
        library("CCurl", package: "libcurl", debian: "libcurl4-openssl-dev"),
        library("CCrypto", package: "libcrypto", debian: "libssl-dev"),
        library("CCjose", package: "cjose", debian: "libcjose-dev"),
        library("CCrypt", package: "libxcrypt", debian: "libcrypt-dev"),
        library("CZlib", package: "zlib", debian: "zlib1g-dev"),
        // pkg-config's -D flags are in its shim.
        .systemLibrary(name: "CNcurses", path: "Sources/CNcurses", providers: [.apt(["libncurses-dev"])]),
        .target(
            name: "CSimdjson", path: "Sources/CSimdjson",
            cxxSettings: [.unsafeFlags(["-O3"])],
            linkerSettings: [.linkedLibrary("simdjson")]),

        .target(name: "CMigrations", path: "Sources/CMigrations"),
        .target(
            name: "CJavaScriptCore", path: "Sources/CJavaScriptCore", linkerSettings: [.linkedLibrary("dl")]),
        .target(name: "CRuntimeScripts", path: "Sources/CRuntimeScripts"),
        .target(name: "CForumFiles", path: "Sources/CForumFiles"),

        // Rooms
        room("Dates", []),
        room("Core", ["CLinux", "CCrypto", "Dates"]),
        room("Postgres", ["Core", "Dates", "CLibPQ"]),
        room("HTTP", ["Core", "CLinux", "CMicrohttpd", "CCurl", "CZlib"]),
        room("Wire", ["CSimdjson", "Dates"]),
        room("Options", ["Wire"]),
        room("Schema", ["Core", "Postgres", "Wire", "CMigrations"]),
        room("Store", ["Core", "Postgres", "Wire", "Schema", "CCrypto"]),
        room("Archive", ["Core", "Dates", "Postgres", "Wire", "Schema", "Store", "CCrypto"]),
        room("Accounts", ["Core", "Postgres", "HTTP", "Wire", "Schema", "Store", "CCrypto", "CCrypt", "CCjose"]),
        room("Cloud", ["Core", "HTTP", "Wire", "Options", "CCrypto"]),
        .target(
            name: "JavaScript",
            dependencies: [
                "Core", "HTTP", "Wire", "Options", "Cloud", "CJavaScriptCore", "CRuntimeScripts", "CCrypto",
            ],
            path: "Sources/JavaScript", exclude: ["Runtime"], swiftSettings: rules),
        room("Browse", ["Core", "Dates", "HTTP", "Wire"]),
        room("Terminal", ["Core", "Wire", "Browse", "CNcurses"]),
        room("Jobs", ["Core", "Dates", "Postgres", "Wire", "Schema", "Store"]),
        room("Mail", ["Core", "Dates", "Postgres", "HTTP", "Wire", "Schema", "Store", "Jobs", "CCrypto"]),
        room(
            "Server",
            [
                "Core", "Dates", "Postgres", "HTTP", "Wire", "Options", "Schema", "Store", "Accounts", "Cloud",
                "JavaScript", "Jobs", "Mail", "CCrypto",
            ]),
        room("Hermes", ["Core", "HTTP", "Wire", "Options", "Store", "Cloud", "Jobs", "Server"]),
        // Applications, written as any user of Hermes would
        .target(
            name: "Forum", dependencies: ["Hermes", "CForumFiles"], path: "Sources/Forum", exclude: ["Web/Files"],
            swiftSettings: rules),
        .executableTarget(
            name: "hermes",
            dependencies: [
                "Core", "Postgres", "HTTP", "Wire", "Options", "Schema", "Archive", "Browse", "Terminal",
                "JavaScript", "Jobs", "Mail", "Server", "Hermes", "Forum",
            ],
            path: "Sources/hermes", swiftSettings: rules),
        // The bare server that benchmarks compare with
        .executableTarget(
            name: "hello", dependencies: ["Core", "HTTP"], path: "Sources/hello", swiftSettings: rules),

        // Hermes with compiled hooks, for the benchmarks
        .executableTarget(
            name: "benchhooks", dependencies: ["Hermes"], path: "Sources/benchhooks", swiftSettings: rules),

        // Tests
        tests("CoreTests", ["Core", "CLinux", "TestSupport"]),
        .target(
            name: "TestSupport", dependencies: ["Core", "Postgres", "Schema", "Wire"], path: "Tests/Support",
            resources: [.copy("smtp_server.py")], swiftSettings: rules),
        tests("PostgresTests", ["Core", "Postgres", "TestSupport"]),
        tests("HTTPTests", ["Core", "HTTP", "TestSupport"]),
        tests("WireTests", ["Wire", "TestSupport"], resources: [.copy("Corpus")]),
        tests("SchemaTests", ["Core", "Postgres", "Schema", "Wire", "TestSupport"]),
        tests("StoreTests", ["Core", "Postgres", "Wire", "Schema", "Store", "Accounts", "TestSupport"]),
        tests("ArchiveTests", ["Core", "Postgres", "Wire", "Schema", "Store", "Archive", "TestSupport"]),
        tests("AccountsTests", ["Accounts", "Wire"]),
        tests(
            "JobsTests", ["Core", "Dates", "Postgres", "Wire", "Schema", "Store", "Jobs", "TestSupport"]),
        tests(
            "MailTests",
            ["Core", "Dates", "Postgres", "HTTP", "Wire", "Schema", "Store", "Jobs", "Mail", "TestSupport"],
            resources: [.copy("Python")]),
        tests("CloudTests", ["Cloud", "Core", "HTTP", "Wire"]),
        tests("BrowseTests", ["Browse", "Wire", "TestSupport"]),
        tests("OptionsTests", ["Options", "Wire"]),
        tests("JavaScriptTests", ["Core", "HTTP", "Wire", "Cloud", "JavaScript"]),
        tests(
            "ServerTests",
            [
                "Core", "Postgres", "HTTP", "Wire", "Options", "Schema", "Store", "Accounts", "Cloud", "Jobs", "Mail",
                "Server", "Browse", "TestSupport", "CCjose",
            ]),
        tests("HermesTests", ["Core", "HTTP", "Hermes", "TestSupport"]),
        tests("ForumTests", ["Core", "Accounts", "Postgres", "HTTP", "Wire", "Hermes", "Forum", "TestSupport"]),
    ],
    cxxLanguageStandard: .cxx17
)
