// Keeps the memory of this process out of reach: it holds tokens, passwords and the keys of certificates.
#pragma once

namespace sluice::program {

// LeakSanitizer attaches to the process like a debugger, and cannot do so to a process that is not dumpable.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(leak_sanitizer)
inline constexpr bool kDebuggerNeeded = true;
#else
inline constexpr bool kDebuggerNeeded = false;
#endif
#else
inline constexpr bool kDebuggerNeeded = false;
#endif

// After this call a crash leaves no core file, and other processes of the same user can neither attach a debugger nor
// read /proc/PID/mem and /proc/PID/environ. Builds with kDebuggerNeeded only give up the core file.
// Call it before the program reads a secret.
void forbid_dumps();

}  // namespace sluice::program
