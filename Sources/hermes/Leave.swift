import Core
import Glibc

/// Ends the program, when what was written has gone out.
///
/// Without the C library's cleaning up: a worker's thread may be ending at this moment, and what both free (OpenSSL's
/// state is such a thing) would be freed twice, which now and then ended a command that was done with an abort.
func leave(_ code: Int32) -> Never {
    Log.shared.flush()
    fflush(nil)
    _exit(code)
}
