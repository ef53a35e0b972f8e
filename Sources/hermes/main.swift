import Archive
import Glibc
import Options
import Server

do {
    let words = CommandLine.arguments.dropFirst()
    if try await !FileCommand.run(words) { try await Command(words).run() }
} catch {
    Console.complain("hermes: \(error)\n")
    exit(error is OptionFault ? 2 : error is Interrupted ? 130 : 1)
}
