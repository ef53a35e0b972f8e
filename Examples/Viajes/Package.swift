// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "viajes",
    dependencies: [.package(name: "hermes", path: "../..")],
    targets: [
        // The application, as tests and the program both take it
        .target(name: "Viajes", dependencies: [.product(name: "Hermes", package: "hermes")]),
        .executableTarget(name: "viajes-server", dependencies: ["Viajes"]),
        .testTarget(
            name: "ViajesTests", dependencies: ["Viajes", .product(name: "Hermes", package: "hermes")]),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)
