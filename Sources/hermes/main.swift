import Glibc
import Server

// Before any other thread starts, so that none of them is ended by a signal that the server waits for.
if CommandLine.arguments.dropFirst().first == "serve" { Service.blockSignals() }

do {
    try await Command(CommandLine.arguments.dropFirst()).run()
} catch {
    Console.complain("hermes: \(error)\n")
    exit(error is OptionFault ? 2 : 1)
}
