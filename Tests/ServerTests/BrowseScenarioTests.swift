import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// `hermes browse` in a real terminal (tmux), with keys in and screens out: scripts/browse_scenarios.py.
@Suite struct BrowseScenarioTests {
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("scripts/browse_scenarios.py").path

    private static let hasTmux = ["/usr/bin/tmux", "/usr/local/bin/tmux"].contains { (path: String) in
        access(path, X_OK) == 0
    }

    // Those that wait for nothing but the screen; the script alone does all.
    @Test(.enabled(if: hasTmux, "tmux is not here (apt install tmux)"))
    func theScreensAreAsDesigned() async throws {
        let folder = HermesProcess.makeFolder("scenarios")
        defer { removeFolder(folder) }
        let log = "\(folder)/output"
        let output = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        let child = try ChildProcess.start(
            [
                "/usr/bin/setpriv", "--pdeathsig", "TERM", "/usr/bin/python3", Self.script, "--hermes",
                HermesProcess.program, "--only",
                "1,2,4,5,6,8,9,10,11,12,13,14,15,16,18,19,20,21,22,23,24,25,26,27,28,29",
            ], environment: ProcessInfo.processInfo.environment, output: output)
        close(output)
        let exit = try await blocking { child.wait(seconds: 600) }
        let said = try String(contentsOfFile: log, encoding: .utf8)
        #expect(exit == 0, "\(said)")
    }
}
