// The library inside a program: what one Engine::check() costs, and how often it asks the heap.
//
//   bench_library [--rounds N] [--subjects N] [--only NAME]     prints JSON; --only is for a profiler
//
// "One" is one subject; "many" goes through all subjects in random order.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "sluice/engine.hpp"
#include "tests/bench/measure.hpp"
#include "tests/bench/program.hpp"

namespace sluice::bench {
namespace {

// So much that no subject is ever denied, and no counter ends between two rounds.
constexpr std::string_view kWindow =
    R"({"name":"rate","algorithm":"fixed_window","limit":1000000000,"window":"1h","align":"first"})";
constexpr std::string_view kBucket =
    R"({"name":"burst","algorithm":"token_bucket","capacity":100000000,"refill":"1/10s"})";
constexpr std::string_view kBundle = R"({{"format":"sluice/v1","tenants":[{{"id":"bench"}}],
"policies":[{{"tenant_id":"bench","id":"orders","scope":{{"resource":"GET:/orders"}},"key_by":["subject"],
  "limits":[{}]}}]}})";

std::unique_ptr<v1::Engine> open(std::string_view limit, v1::Concurrency concurrency, bool metrics) {
  auto opened = v1::Engine::open(
      {.bundle = fmt::format(fmt::runtime(kBundle), limit), .concurrency = concurrency, .metrics = metrics});
  if (!opened) stop(opened.status.message);
  return std::move(opened.engine);
}

struct Asked {
  v1::Engine& engine;
  v1::Decision decision{};

  void ask(std::string_view subject) {
    engine.check({.resource = "GET:/orders", .subject = subject}, decision);
    if (!decision.allowed) stop("denied: " + decision.status.message);
    keep(decision.remaining);
  }
};

}  // namespace
}  // namespace sluice::bench

int main(int count, char** words) {
  using namespace sluice::bench;
  using sluice::v1::Concurrency;
  const Flags flags = read_flags(count, words);
  Subjects subjects(flags.subjects);
  struct Row {
    const char* name;
    std::string_view limit;
    Concurrency concurrency = Concurrency::one;
    bool metrics = false;
  };
  const Row rows[] = {{"library, fixed window", kWindow},
                      {"library, token bucket", kBucket},
                      {"library, fixed window, any thread", kWindow, Concurrency::many},
                      {"library, fixed window, with metrics", kWindow, Concurrency::one, true}};
  std::vector<Timed> all;
  for (const Row& row : rows) {
    if (!flags.only.empty() && flags.only != row.name) continue;
    // For as long as the program runs.
    auto* const asked = new Asked{*open(row.limit, row.concurrency, row.metrics).release()};
    all.push_back({row.name, "one",
                   [asked](std::size_t times) {
                     for (; times > 0; --times) asked->ask("user:0000000");
                   },
                   200'000});
    all.push_back({row.name, "many",
                   [asked, &subjects](std::size_t times) {
                     for (; times > 0; --times) asked->ask(subjects.next());
                   },
                   flags.subjects});
  }
  measure(all, flags.rounds);
  print(fmt::format("\"subjects\":{}", flags.subjects), all);
}
