import Core
import TestSupport

/// `hermes serve` as a program of its own: shared with the applications' tests.
typealias HermesProcess = TestSupport.HermesProcess

func removeFolder(_ path: String) { TestSupport.removeFolder(path) }

func onWorker(_ body: @Sendable (Loop) async throws -> Void) async throws { try await TestSupport.onWorker(body) }
