import Archive
import Browse
import Glibc
import Options
import Server

do {
    let words = CommandLine.arguments.dropFirst()
    if try await !FileCommand.run(words) { try await Command(words).run() }
} catch {
    fflush(nil)
    // What a server answered may hold what somebody stored.
    let lines = "\(error)".split(separator: "\n", omittingEmptySubsequences: false).map { SafeText(String($0)).text }
    Console.complain("hermes: \(lines.joined(separator: "\n"))\n")
    exit((error as? CommandFailure)?.code ?? (error is OptionFault ? 2 : error is Interrupted ? 130 : 1))
}
