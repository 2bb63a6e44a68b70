// A wall clock that stands where a test puts it, for the process this library is preloaded into.
//
// SLUICE_DRIVEN_CLOCK names a file of eight bytes: microseconds since the epoch. gettimeofday, time and clock_gettime
// of CLOCK_REALTIME (and its COARSE form) answer what it holds; monotonic clocks are untouched, so timeouts go on. The
// file is mapped shared: whoever writes it moves the clock at once.
//
// A process that serves a pipeline can be told its time between two commands of it: a nanosleep() of 10^9 s or more,
// which nobody means, returns at once and sets the clock to that time (Redis: DEBUG SLEEP <seconds since the epoch>).
//
// Where the variable is not set, nothing is driven. Thread safety: one word, read and written atomically.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { kSmallestTime = 1000000000 };  // seconds

static _Atomic int64_t* driven;
static int (*real_clock_gettime)(clockid_t, struct timespec*);

// Runs before main(). Earlier calls (the allocator asks for the time while it starts) get the real clock by system
// call: dlsym() itself may allocate.
__attribute__((constructor)) static void open_clock(void) {
  // ISO C has no conversion from an object pointer to a function pointer; POSIX promises this one.
  *(void**)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  const char* path = getenv("SLUICE_DRIVEN_CLOCK");
  if (path == NULL) return;
  int file = open(path, O_RDWR | O_CLOEXEC);
  void* map = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *driven, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (map == MAP_FAILED) {
    static const char text[] = "driven_clock: SLUICE_DRIVEN_CLOCK names no file of eight bytes\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    abort();
  }
  close(file);
  driven = map;
}

static int64_t driven_us(void) { return atomic_load_explicit(driven, memory_order_relaxed); }

int clock_gettime(clockid_t clock, struct timespec* out) {
  if (driven != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    int64_t now = driven_us();
    out->tv_sec = now / 1000000;
    out->tv_nsec = now % 1000000 * 1000;
    return 0;
  }
  if (real_clock_gettime != NULL) return real_clock_gettime(clock, out);
  return (int)syscall(SYS_clock_gettime, clock, out);
}

int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}

// Newer servers read the processor's own counter and add it to a wall clock that they look at every millisecond. A
// processor that does not say it has a constant counter makes them ask the system, which answers above.
FILE* fopen64(const char* restrict path, const char* restrict mode) {
  static FILE* (*real_fopen)(const char*, const char*);
  if (real_fopen == NULL) *(void**)&real_fopen = dlsym(RTLD_NEXT, "fopen64");
  return real_fopen(driven != NULL && strcmp(path, "/proc/cpuinfo") == 0 ? "/dev/null" : path, mode);
}
FILE* fopen(const char* restrict path, const char* restrict mode) { return fopen64(path, mode); }

int nanosleep(const struct timespec* wanted, struct timespec* left) {
  if (driven != NULL && wanted->tv_sec >= kSmallestTime) {
    atomic_store_explicit(driven, wanted->tv_sec * 1000000 + wanted->tv_nsec / 1000, memory_order_relaxed);
    return 0;
  }
  return (int)syscall(SYS_nanosleep, wanted, left);
}
