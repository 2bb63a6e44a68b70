// The rate limiter inside a program: the same policies, algorithms and counters as the agent, without another process.
//
//   #include <sluice/engine.hpp>
//   auto opened = sluice::v1::Engine::open({.bundle_file = "policies.json"});
//   if (!opened) return fail(opened.status.message);
//   const auto decision = opened.engine->check({.resource = "GET:/orders", .subject = "user:42"});
//   if (!decision.allowed) return too_many_requests(decision.retry_after);
//
// - **Threads.** The engine starts none, unless an option asks for it (`watch_file`, `server`, `threads`). Every
//   function may be called from any thread, unless Options::concurrency says that one thread uses the engine. While
//   the engine is destroyed, no other thread may be inside a call.
// - **Errors.** No function throws. What goes wrong is a Status. A program that ignores it allows nothing by accident:
//   a check that fails has `allowed == false` and a `status` that is not ok.
// - **Memory.** check() into a Decision that is used again allocates nothing in the steady state.
// - **fork().** A child must not use an engine of its parent: it opens its own. See docs/guide/in-process.md.
// - **Compilers.** C++20; this header includes nothing but the standard library.
// - **ABI.** Stable within the namespace v1. Structs get no new members there.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::v1 {

using Micros = std::chrono::microseconds;

// Retry-after of a check that never passes, however long one waits: its cost is above the limit.
inline constexpr Micros kNever{-1};

enum class Code : std::uint8_t {
  ok,
  invalid_options,    // Options: two sources of policies, a malformed URL, …; or Options::clock_us throws
  invalid_policies,   // the bundle has faults
  unreachable,        // a file, Redis, or what the operating system has, such as threads, cannot be used
  unauthenticated,    // Request::api_key is not known, or has expired
  unknown_tenant,     // Request::tenant names none, or is missing although the policies have several
  unknown_plan,       // Request::plan names none, or the tenant's callers may not choose one
  missing_dimension,  // the counter is named by a dimension that the request lacks
  invalid_request,    // a cost is negative or above 2^31 − 1, a limit cannot be brought, …
  unknown_lease,      // malformed, of another tenant, or (for a renewal) it has ended
  out_of_memory,      // an allocation failed; the check may have been charged
  stopped,            // the engine was closed meanwhile
};

struct Status {
  Code code = Code::ok;
  std::string message;  // one line for people: the field, the rule, the fix; "" if ok

  bool ok() const noexcept { return code == Code::ok; }
};

// ---- A check -------------------------------------------------------------------------------------------------------

struct Named {  // a tag or an attribute
  std::string_view name;
  std::string_view value;
};
struct Amount {  // the cost of a unit, or the number of a limit
  std::string_view name;
  std::int64_t value = 0;  // a cost: 0 to 2^31 − 1; a limit: 1 to 2^50
};

// What is asked. Views must live until the check is answered. A text with the data() nullptr, as it is by default, is
// absent; "" is an empty value, which is not the same. The dimensions are those of `POST /v1/check`.
//
// Texts are UTF-8 of at most 256 bytes, the resource without its query. Names in the lists have 1 to 256 bytes, and no
// list has more than 64 of them, each once. A request has a dimension, a tag, an attribute or a plan. What breaks these
// rules is Code::invalid_request.
struct Request {
  std::string_view tenant = {};   // may be absent if the policies have one tenant, or if Options::tenant names it
  std::string_view api_key = {};  // "slk_…", instead of `tenant`: who brings it must be authenticated

  std::string_view resource = {};
  std::string_view subject = {};
  std::string_view method = {};
  std::string_view endpoint = {};
  std::string_view user = {};
  std::string_view client = {};
  std::string_view client_id = {};
  std::string_view source_ip = {};  // IPv4 or IPv6, with or without a port
  std::string_view application = {};
  std::string_view service = {};
  std::string_view environment = {};
  std::string_view signal = {};
  std::string_view operation = {};
  std::string_view region = {};
  std::string_view severity = {};
  std::string_view span_name = {};
  std::string_view topic = {};
  std::string_view consumer_group = {};
  std::string_view job_type = {};
  std::string_view priority = {};
  std::span<const Named> tags = {};
  std::span<const Named> attributes = {};

  std::int64_t cost = 1;                // of the unit "requests", 0 to 2^31 − 1; 0 reads without charging
  std::span<const Amount> costs = {};   // of other units
  std::span<const Amount> limits = {};  // limit_override: numbers for this check only; the plan must allow it
  std::string_view plan = {};           // a plan instead of a policy
  std::string_view request_id = {};     // makes the action `sample` repeatable
  bool explain = false;                 // fill in Decision::explanation
  bool headers = false;                 // fill in Decision::headers
};

enum class Action : std::uint8_t { allow, deny, delay, sample, drop, downgrade, drop_low_priority, shadow_only };
enum class Reason : std::uint8_t {
  within_limit,
  limit_exceeded,
  no_policy,
  mode_off,
  shadow,
  sampled,
  fail_open,
  fail_closed,
  degraded,
  no_snapshot,
  overload,
};
std::string_view to_string(Action) noexcept;  // "deny"; of a number that the library does not know: "unknown"
std::string_view to_string(Reason) noexcept;  // "limit_exceeded"; likewise

struct Decision {
  bool allowed = false;
  Action action = Action::allow;
  Reason reason = Reason::no_policy;
  Status status;  // not ok: the check was not decided, and `allowed` is false

  bool has_limit = false;      // whether the five members below say something
  std::int64_t limit = 0;      // in the limit's unit: requests, tokens, places, …
  std::int64_t remaining = 0;  // likewise; after this check
  Micros reset_after{0};       // until the limit is whole again
  Micros retry_after{0};       // until the same check passes; 0 if it has passed; kNever: never
  Micros delay{0};             // how long to hold the request back (action `delay`)

  std::string policy;  // its id; "": none decided
  std::int64_t policy_version = 0;
  std::string plan;
  std::string limit_name;
  std::string downgrade_to;  // of the action `downgrade`
  double sample_rate = 0;    // of the action `sample`: 0 to 1
  bool shadow = false;       // nothing was enforced,
  bool would_allow = true;   // and this is what the decision would have been

  std::string lease_id;               // "": no lease; see Lease
  std::int64_t lease_expires_us = 0;  // Unix time in µs; 0: no lease

  std::string explanation;  // JSON, as the agent answers with "explain": true
  std::string headers;      // "Name: value\r\n" for each: X-RateLimit-…, RateLimit, Retry-After
};

// ---- Leases --------------------------------------------------------------------------------------------------------

class Engine;

// Gives the places of a `concurrency` limit back at its end. Movable: what it was moved from holds no lease.
//
// Thread safety: none. A lease ends by itself after the limit's `lease_ttl`, unless it is renewed.
class Lease {
 public:
  Lease() noexcept = default;
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();

  explicit operator bool() const noexcept { return engine_ != nullptr; }
  const std::string& id() const noexcept { return id_; }
  Status renew() noexcept;    // for another `lease_ttl`. Errors: unknown_lease (it has ended), unreachable (Redis)
  Status release() noexcept;  // before the end of the object; a second call does nothing. Error: unreachable (Redis)
  std::string detach() noexcept;  // the id; from then on the program releases by Engine::release()

 private:
  friend class Engine;
  Lease(Engine& engine, std::string tenant, std::string id) noexcept;

  Engine* engine_ = nullptr;  // outlives the lease
  std::string tenant_;
  std::string id_;
};

// ---- The engine ----------------------------------------------------------------------------------------------------

enum class Level : std::uint8_t { debug, info, warn, error };
// `line` is one line of JSON: time, level, event, message, fields. What the hook throws is dropped.
using LogHook = std::function<void(Level level, std::string_view event, std::string_view line)>;
// Called for each decision, on the thread that decides. A check whose status is an error has none. The hook must not
// call the engine. What it throws is dropped.
using DecisionHook = std::function<void(const Request& request, const Decision& decision)>;

enum class Concurrency : std::uint8_t {
  many,  // any thread may call at any time
  one,   // only one thread calls at a time, so the engine takes no lock
};

// The files are looked at when the engine is opened, and read again for each connection.
struct Redis {
  std::string url = {};            // redis://, rediss://, redis+sentinel://, redis+cluster://, unix:PATH; "": memory
  std::string password_file = {};  // read again when it changes
  // The login for sentinels, which never get the one above: a password, or a user and a password on two lines.
  std::string sentinel_password_file = {};
  std::string sentinel_login_file = {};
  std::string tls_ca_file = {};    // "": the authorities of the operating system
  std::string tls_cert_file = {};  // client certificate
  std::string tls_key_file = {};
  std::chrono::milliseconds deadline{25};  // of one call, 1 ms to 10 s
};

struct Server {
  std::string url = {};         // http:// or https://; "": none
  std::string token_file = {};  // the token of an agent
  std::string cache_file = {};  // the last good state, for a start without the server; "": none
  std::string ca_file = {};     // "": the authorities of the operating system
  std::string name = {};        // how the fleet names this engine, 1 to 253 visible ASCII characters; "": the host's
                                // name and the process id
};

struct Options {
  // Where policies come from: at most one of `bundle`, `bundle_file` and `server`. None: Engine::load() brings them.
  std::string bundle = {};       // a bundle's text, JSON or YAML
  std::string bundle_file = {};  // path of a bundle; the end of its name, .yaml or .json, says which, else its text
  bool watch_file = false;       // starts a thread that loads the file again when it changes
  Server server = {};            // starts a thread

  // Where counters are: in Redis, shared with agents and other programs, or in the memory of this engine.
  Redis redis = {};
  std::size_t memory_limit = 0;  // bytes that counters in memory may take, roughly; 0: no limit

  // How many threads run the loop of Redis, at most 1024. 0: none. Then each check() runs the loop until it is
  // answered, and Engine::run() runs it for asynchronous checks. Of no use with counters in memory.
  unsigned threads = 0;
  Concurrency concurrency = Concurrency::many;

  std::string tenant = {};              // of requests that name none: at most 63 of a-z, 0-9, "." and "-"
  bool allow_without_policies = false;  // what checks get before there are policies
  // Unix time in µs, 0 to 2^53, for tests; empty: the system's clock. If it throws, the call fails with
  // Code::invalid_options. With `server` the last time is taken instead.
  std::function<std::int64_t()> clock_us = {};
  LogHook log = {};
  DecisionHook on_decision = {};
  bool metrics = false;  // count decisions for Engine::metrics(); costs each check some nanoseconds
};

class Engine {
 public:
  struct Opened {
    std::unique_ptr<Engine> engine;  // nullptr if it could not be opened
    Status status;
    explicit operator bool() const noexcept { return engine != nullptr; }
  };
  // Reads the bundle before it returns. It does not wait for the server or for Redis. Errors: invalid_options,
  // invalid_policies, unreachable (a file cannot be read or is not PEM, the token file has no token), out_of_memory.
  static Opened open(Options options) noexcept;
  // Gives up asynchronous checks with Code::stopped, and joins the engine's threads. So a callback or a hook must not
  // destroy the engine. Its Lease objects are gone before, or hold no lease.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Decision check(const Request& request) noexcept;
  // The same into an object that is used again, and so keeps its memory.
  void check(const Request& request, Decision& decision) noexcept;
  // Each check by itself, in their order. REQUIRES: as many decisions as requests. Both may be empty. Each decision
  // may bring a lease.
  void check_batch(std::span<const Request> requests, std::span<Decision> decisions) noexcept;
  // Calls back once: on the calling thread if the counters are in memory, else on a thread that runs the loop. If there
  // is no memory to begin the check, on the calling thread with Code::out_of_memory. What the request points to must
  // live until then. What the callback throws is dropped.
  using Callback = std::function<void(const Decision& decision)>;
  void check_async(const Request& request, Callback callback) noexcept;
  // Asks again, at `retry_after`, until the check passes or `at_most` is over. Sleeps meanwhile. It asks once if
  // `at_most` is 0 or less. It returns at once if the check is not decided, can never pass, or passes only after
  // `at_most`; but it waits for a lease, which may be released sooner. 100 years are the longest wait.
  void wait(const Request& request, Micros at_most, Decision& decision) noexcept;

  // The lease that a decision has brought; empty if it has none, or if there is no memory for the object. Then
  // release() takes the lease by its id.
  Lease lease(const Request& request, const Decision& decision) noexcept;
  // Gives a lease back. One that has ended, or was given back before, is no error. `tenant`: as in the check; "": that
  // of Options::tenant, or without it the lease's own. Errors of both: unknown_lease (no lease id, or of another
  // tenant; for a renewal also: it has ended), unknown_tenant, unreachable (Redis).
  Status release(std::string_view tenant, std::string_view lease_id) noexcept;
  // Makes a lease last for another `lease_ttl`, and writes when it ends to `expires_us`, Unix time in µs.
  Status renew(std::string_view tenant, std::string_view lease_id, std::int64_t* expires_us = nullptr) noexcept;

  // Puts other policies in force, for checks that begin from then on. If they have faults, the former stay. Errors:
  // invalid_policies; invalid_options with a server. With `watch_file` they stay until the file changes.
  Status load(std::string_view bundle) noexcept;
  // Reads `bundle_file` again. Errors: those of load(), unreachable; invalid_options without a file.
  Status reload() noexcept;
  bool has_policies() const noexcept;
  std::uint64_t revision() const noexcept;  // of the policies in force: 0 for none, one more with each load

  // Runs the loop on the calling thread until stop(). For Options::threads == 0 with Redis; else it returns at once, as
  // it does in a callback.
  void run() noexcept;
  std::size_t poll() noexcept;  // runs what is ready, and returns how much that was; 0 if another thread runs the loop
  // Ends run() in each thread that is there; if none is, the next run(). Also from a callback.
  void stop() noexcept;

  // In Prometheus' text format; "" without Options::metrics, or if there is no memory.
  std::string metrics() const noexcept;

 private:
  class Impl;
  explicit Engine(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

std::string_view version() noexcept;  // of the library: "0.1.0"

}  // namespace sluice::v1
