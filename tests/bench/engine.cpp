// The agent without sockets: what one decision costs in this process, and how often it asks the heap.
//
//   bench_engine [--rounds N] [--subjects N] [--only NAME]      prints JSON; --only is for a profiler
//
// bare      the least that counts, without a clock and a limit: bare_counters.hpp; and a counter of a metric, which is
//           found when policies are loaded, so that it is one addition for several threads
// counter   MemoryCounters::judge alone: find the key's cell, bring it forward, judge, charge
// engine    what follows authentication: match, build the key, judge in memory, conclude
//           Both judge by a token bucket; the rows ", fixed window" by a fixed window, and ", one thread" by a
//           bucket without locks.
// handler   bytes to bytes: the HTTP connection, authentication, the JSON, the engine, the reply
// and the handler's parts by themselves. "One" is one subject; "many" goes through all subjects in random order.
#include <fcntl.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "agent/api/check_api.hpp"
#include "common/domain/credential.hpp"
#include "common/http/connection_host.hpp"
#include "common/limiter/memory_store.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/policy/counter_key.hpp"
#include "common/policy/snapshot.hpp"
#include "common/telemetry/line_writer.hpp"
#include "engine/decide/decision.hpp"
#include "engine/usage/recorder.hpp"
#include "tests/bench/bare_counters.hpp"
#include "tests/bench/measure.hpp"
#include "tests/bench/program.hpp"

namespace sluice::bench {
namespace {

// A hundred million tokens, one in ten seconds; or a thousand million a day: no subject is ever denied here, and none
// is forgotten between two rounds.
constexpr std::string_view kBucket = R"("algorithm":"token_bucket","capacity":100000000,"refill":"1/10s")";
constexpr std::string_view kWindow = R"("algorithm":"fixed_window","limit":1000000000,"window":"1d")";
constexpr std::string_view kBundle = R"({{"format":"sluice/v1","tenants":[{{"id":"bench"}}],
"policies":[{{"tenant_id":"bench","id":"orders","scope":{{"resource":"GET:/orders"}},"key_by":["subject"],
  "limits":[{{"name":"burst",{}}}]}}],
"keys":[{{"tenant_id":"bench","id":"bench","key_hash":"{}"}}]}})";
constexpr std::string_view kBody = R"({"resource":"GET:/orders","subject":"user:0000000","cost":1})";

struct Keeper final : limiter::JudgeListener {
  explicit Keeper(decide::Judgement& its_judgement) : judgement(its_judgement) {}
  void judged(limiter::StoreResult<limiter::Outcome>&& result) override { judgement.outcome = std::move(result); }
  decide::Judgement& judgement;
};

// A connection without a socket: takes requests as bytes, drops the replies when it has looked at their status.
class Wire final : public http::Connection {
 public:
  using Connection::Connection;

  void receive(std::string_view bytes) {
    if (bytes.size() > space_.size()) stop("the connection takes no whole request");
    std::memcpy(space_.data(), bytes.data(), bytes.size());
    on_read(http::IoResult::ok, bytes.size());
  }
  std::size_t answered() const { return answered_; }

 private:
  void start_read(std::span<char> space) override { space_ = space; }
  void start_write(std::string_view) override {}
  http::IoResult write_now(std::string_view text, std::size_t& sent) override {
    sent = text.size();
    if (!text.starts_with("HTTP/1.1 200 ")) stop("the handler answered " + std::string(text));
    ++answered_;
    keep(text.data());
    return http::IoResult::ok;
  }
  void cancel_read() override {}
  bool input_waiting() override { return false; }
  void shut_output() override {}
  void close_stream() override {}
  void destroy_stream() override {}
  void unreferenced() noexcept override {}  // it lives in World

  std::span<char> space_;
  std::size_t answered_ = 0;
};

struct Host final : http::ConnectionHost {
  using ConnectionHost::ConnectionHost;
  void wake() override {}
  void first_opened() override {}
  void last_closed() override {}
};

class World {
 public:
  using Counters = limiter::MemoryCounters;

  explicit World(std::string_view limit, Counters::UsedBy used_by = Counters::UsedBy::any_thread)
      : counters(clock, 64, limiter::MemoryBudget::kUnlimited, used_by) {
    const std::string bundle_text = fmt::format(fmt::runtime(kBundle), limit, hash_secret(parse_key(key)->secret));
    auto bundle = parse_bundle(bundle_text);
    if (!bundle) stop(bundle.error()[0].pointer + " " + bundle.error()[0].text);
    auto built = policy::build_snapshot(*bundle, 1, clock.now_us());
    if (!built) stop(built.error()[0].text);
    snapshot = *built;
    key_view = decide::authenticate(*snapshot, key, clock.now_us()).value_or(nullptr);
    if (!key_view) stop("the key is not known");
    decider.set_snapshot(snapshot);
    host = std::make_shared<Host>(http::ServerOptions{}, api);
    wire = std::make_unique<Wire>(host);
    wire->retain();
    host->add(*wire);
    request_bytes = fmt::format(
        "POST /v1/check HTTP/1.1\r\nhost: localhost:8088\r\nx-api-key: {}\r\ncontent-type: application/json\r\n"
        "content-length: {}\r\n\r\n{}",
        key, kBody.size(), kBody);
    subject_at = request_bytes.rfind("user:");
    decide("user:0000000");
  }

  const std::string key = mint_key("bench");
  SystemClock clock;
  Counters counters;
  limiter::MemoryStore store{counters};
  decide::VerifiedKeys verified_keys;
  telemetry::Metrics metrics{{.redis = false,
                              .redis_error_classes = {},
                              .overload_causes = {},
                              .wait_outcomes = {},
                              .routes = agent::api::route_templates()},
                             clock};
  telemetry::LineWriter lines{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  telemetry::DecisionLog log{{}, lines, clock};
  std::shared_ptr<const policy::Snapshot> snapshot;
  const policy::KeyView* key_view = nullptr;
  std::shared_ptr<Host> host;
  std::unique_ptr<Wire> wire;
  std::string request_bytes;
  std::size_t subject_at = 0;

  usage::Usage usage{1};
  usage::Recorder alone{metrics, log, false, nullptr};
  usage::Recorder reporting{metrics, log, false, &usage.worker(0)};
  decide::InFlight in_flight{10'000};
  decide::WaitingPlaces waiting{0};
  decide::WaitingRoom waiting_room{waiting, {}, [](auto) {}};
  decide::Decider decider{store,
                          nullptr,
                          clock,
                          in_flight,
                          waiting_room,
                          alone,
                          {},
                          decide::MatchingBudget(std::chrono::milliseconds(200)),
                          decide::RedisTime(std::chrono::milliseconds(500), 1)};
  agent::api::CheckApi api{{}, decider, metrics.http, metrics.refusals};

  CheckRequest request;
  policy::Selection selection;
  decide::Judgement judgement;
  Keeper keeper{judgement};

  void set_subject(std::string_view subject) {
    request.dimensions[static_cast<std::size_t>(Dimension::subject)] = {subject, true};
  }
  // The engine: everything between authentication and the reply.
  Decision decide(std::string_view subject) {
    request.dimensions[static_cast<std::size_t>(Dimension::resource)] = {"GET:/orders", true};
    set_subject(subject);
    select();
    prepare();
    store.judge(judgement.call, keeper);
    return conclude();
  }
  void select() {
    policy::select(selection, *snapshot, snapshot->tenant_of(*key_view), key_view->id, request, Moment(clock));
    judgement.rulebook = selection.primary();
  }
  void prepare() { decide::prepare_call(snapshot->tenant_of(*key_view), request, judgement); }
  Decision conclude() const { return decide::make_decision(selection, request, {&judgement, 1}); }
  void count(usage::Recorder& recorder, const Decision& decision) {
    recorder.decided({.decision = decision,
                      .tenant = snapshot->tenant_of(*key_view),
                      .request = request,
                      .rulebook = selection.primary(),
                      .judgements = {&judgement, 1},
                      .traceparent = {},
                      .span = nullptr,
                      .took = std::chrono::microseconds(1),
                      .held = false,
                      .overload = {}});
  }
  void handle(std::string_view subject) {
    std::memcpy(request_bytes.data() + subject_at, subject.data(), subject.size());
    wire->receive(request_bytes);
  }
};

// A counter's key as it is; only its subject changes. What precedes the subject is the same text for all.
class KeyOfSubject {
 public:
  explicit KeyOfSubject(std::string& key) : key_(key), at_(key.find("user%3A") + 7) {}
  void set(std::string_view subject) { std::memcpy(key_.data() + at_, subject.data() + 5, subject.size() - 5); }

 private:
  std::string& key_;
  const std::size_t at_;
};

template <class Next>
void add_bare(std::vector<Timed>& all, BareCounters& counters, const World& world, const std::string& keys,
              std::size_t times, Next next) {
  all.push_back({"bare counter", keys,
                 [&counters, text = world.judgement.call.keys[0], next](std::size_t count) mutable {
                   for (KeyOfSubject key(text); count > 0; --count) {
                     key.set(next());
                     keep(counters.increment(text));
                   }
                 },
                 times});
}

void add_metric(std::vector<Timed>& all, World& world, std::size_t times) {
  telemetry::DecisionCounters& counters = world.metrics.decisions.counters("bench");
  all.push_back({"bare counter of a metric", "one",
                 [&counters](std::size_t count) {
                   for (; count > 0; --count) counters.count(true, Reason::within_limit);
                 },
                 times});
}

// What both one subject and many are asked of. `next` gives the subject, `what` is added to the names.
template <class Next>
void add_both(std::vector<Timed>& all, World& world, const std::string& what, const std::string& keys,
              std::size_t times, Next next) {
  auto counter = [&world, next](std::size_t count) {
    world.judgement.call.first_hash = {};  // the counters take the hash
    for (KeyOfSubject key(world.judgement.call.keys[0]); count > 0; --count) {
      key.set(next());
      keep(world.counters.judge(world.judgement.call)->allowed);
    }
  };
  auto engine = [&world, next](std::size_t count) {
    for (; count > 0; --count) keep(world.decide(next()).allowed);
  };
  auto handler = [&world, next](std::size_t count) {
    const std::size_t end = world.wire->answered() + count;
    for (; count > 0; --count) world.handle(next());
    if (world.wire->answered() != end) stop("the handler did not answer at once");
  };
  all.push_back({"counter" + what, keys, counter, times});
  all.push_back({"engine" + what, keys, engine, times});
  all.push_back({"handler" + what, keys, handler, times});
}

void add_parts(std::vector<Timed>& all, World& world, std::size_t times) {
  auto add = [&](const char* name, auto part) {
    all.push_back({name, "one",
                   [part](std::size_t count) mutable {
                     for (; count > 0; --count) part();
                   },
                   times});
  };
  add("part: read the clock", [&world] { keep(world.clock.now_us()); });
  add("part: authenticate", [&world] { keep(decide::authenticate(*world.snapshot, world.key, Moment(world.clock))); });
  add("part: authenticate again",
      [&world] { keep(decide::authenticate(*world.snapshot, world.key, Moment(world.clock), &world.verified_keys)); });
  add("part: parse JSON", [body = std::string(kBody), request = CheckRequest()]() mutable {
    std::memcpy(body.data(), kBody.data(), kBody.size());  // it is parsed in place
    if (!parse_check(body, request).empty()) stop("the body is no check");
    keep(request.requests);
  });
  add("part: match", [&world] { world.select(); });
  add("part: build key", [&world] { world.prepare(); });
  add("part: conclude", [&world] { keep(world.conclude().allowed); });
  add("part: count", [&world, decision = world.decide("user:0000000")] { world.count(world.alone, decision); });
  add("part: count, for a server too",
      [&world, decision = world.decide("user:0000000")] { world.count(world.reporting, decision); });
  add("part: write reply",
      [decision = world.decide("user:0000000"), headers = std::string(), body = std::string()]() mutable {
        headers.clear();
        body.clear();
        write_decision_headers(decision, {}, headers);
        write_decision(decision, body);
        keep(body.data());
      });
}

}  // namespace
}  // namespace sluice::bench

int main(int count, char** words) {
  using namespace sluice::bench;
  const Flags flags = read_flags(count, words);
  // For as long as the program runs.
  World& world = *new World(kBucket);
  World& windows = *new World(kWindow);
  World& alone = *new World(kBucket, World::Counters::UsedBy::one_thread);
  Subjects subjects(flags.subjects);
  std::vector<Timed> all;
  const auto same = [] { return std::string_view("user:0000000"); };
  const auto next = [&subjects] { return subjects.next(); };
  BareCounters& bare = *new BareCounters;
  add_bare(all, bare, world, "one", 200'000, same);
  add_bare(all, bare, world, "many", flags.subjects, next);
  add_metric(all, world, 200'000);
  add_both(all, world, "", "one", 200'000, same);
  add_both(all, windows, ", fixed window", "one", 200'000, same);
  add_both(all, alone, ", one thread", "one", 200'000, same);
  add_both(all, world, "", "many", flags.subjects, next);
  add_both(all, windows, ", fixed window", "many", flags.subjects, next);
  add_parts(all, world, 200'000);
  if (!flags.only.empty()) std::erase_if(all, [&](const Timed& timed) { return timed.name != flags.only; });
  measure(all, flags.rounds);
  print(fmt::format("\"subjects\":{},\"keys_kept\":{}", flags.subjects, world.counters.size()), all);
}
