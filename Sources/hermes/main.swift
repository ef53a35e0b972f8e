import Glibc
import Options
import Server

do {
    try await Command(CommandLine.arguments.dropFirst()).run()
} catch {
    Console.complain("hermes: \(error)\n")
    exit(error is OptionFault ? 2 : 1)
}
