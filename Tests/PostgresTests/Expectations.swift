import Postgres
import Testing

/// The connection is in order: `SELECT 1` is answered with 1.
func expectOne(_ rows: Rows, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(rows.count == 1 && rows.int(0, 0) == 1, sourceLocation: sourceLocation)
}

func expect<E: Error>(
    _ error: (any Error)?, is type: E.Type, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(error is E, "\(String(describing: error))", sourceLocation: sourceLocation)
}
