// libpqxx 6.4 forgets a result, 2 KB, when a server that stops in order ends a connection. Not ours to mend: told to
// LeakSanitizer in every program that links libpqxx. Weak, for a program may get this from several libraries.
extern "C" __attribute__((weak)) const char* __lsan_default_suppressions() { return "leak:libpqxx-6.4.so\n"; }
