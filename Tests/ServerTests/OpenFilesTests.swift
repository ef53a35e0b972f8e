import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// A server that may open no more files: each connection is one.
@Suite struct OpenFilesTests {
    @Test func theLogTellsWhyNewConnectionsWait() async throws {
        let folder = HermesProcess.makeFolder("files")
        defer { removeFolder(folder) }
        let database = try await TestDatabase.make(template: .migrated)
        try await onWorker { loop in
            let server = try HermesProcess(folder: folder, conninfo: database.conninfo)
            try await server.waitUntilReady(loop)
            // The limit holds for what is opened from now on.
            let limiting = try ChildProcess.start(
                ["/usr/bin/prlimit", "--pid", "\(server.child.processID)", "--nofile=16:16"], environment: [:],
                output: STDERR_FILENO)
            #expect(try await blocking { limiting.wait(seconds: 20) } == 0)
            let client = RawConnection(port: server.port)
            let isTold = try await eventually(loop) {
                server.printed.contains("the system gives this process no more open files")
            }
            #expect(isTold)
            withExtendedLifetime(client) {}
            server.child.signal(SIGKILL)
            _ = try await server.exit(within: 20)
        }
    }
}
