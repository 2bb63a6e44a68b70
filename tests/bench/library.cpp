// The library inside a program: what one Engine::check() costs, and how often it asks the heap.
//
//   bench_library [--rounds N] [--subjects N] [--only NAME]     prints JSON; --only is for a profiler
//
// "One" is one subject; "many" goes through all subjects in random order.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "sluice/engine.hpp"
#include "tests/bench/measure.hpp"

namespace sluice::bench {
namespace {

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "bench_library: %s\n", why.c_str());
  std::_Exit(1);  // nothing here is to be put in order
}

// So much that no subject is ever denied, and no counter ends between two rounds.
constexpr std::string_view kWindow =
    R"({"name":"rate","algorithm":"fixed_window","limit":1000000000,"window":"1h","align":"first"})";
constexpr std::string_view kBucket =
    R"({"name":"burst","algorithm":"token_bucket","capacity":100000000,"refill":"1/10s"})";
constexpr std::string_view kBundle = R"({{"format":"sluice/v1","tenants":[{{"id":"bench"}}],
"policies":[{{"tenant_id":"bench","id":"orders","scope":{{"resource":"GET:/orders"}},"key_by":["subject"],
  "limits":[{}]}}]}})";
constexpr std::size_t kSubjectSize = 12;

// "user:0000042", in random order, one behind the other.
std::string make_subjects(std::size_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::shuffle(order, std::mt19937(1));  // NOLINT(bugprone-random-generator-seed): the same each time
  std::string text;
  text.reserve(count * kSubjectSize);
  for (std::uint32_t number : order) text += fmt::format("user:{:07}", number);
  return text;
}

std::unique_ptr<v1::Engine> open(std::string_view limit, v1::Concurrency concurrency, bool metrics) {
  auto opened = v1::Engine::open(
      {.bundle = fmt::format(fmt::runtime(kBundle), limit), .concurrency = concurrency, .metrics = metrics});
  if (!opened) stop(opened.status.message);
  return std::move(opened.engine);
}

struct Asked {
  v1::Engine& engine;
  const std::string& subjects;
  v1::Decision decision{};
  std::size_t at = 0;

  void ask(std::string_view subject) {
    engine.check({.resource = "GET:/orders", .subject = subject}, decision);
    if (!decision.allowed) stop("denied: " + decision.status.message);
    keep(decision.remaining);
  }
  void ask_next() {
    at = at + kSubjectSize < subjects.size() ? at + kSubjectSize : 0;
    ask({subjects.data() + at, kSubjectSize});
  }
};

void print(const std::vector<Timed>& all, std::size_t subjects) {
  fmt::print("{{\"subjects\":{},\"rows\":[", subjects);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<double> ns = all[i].ns;
    std::ranges::sort(ns);
    fmt::print(
        "{}\n  {{\"name\":\"{}\",\"keys\":\"{}\",\"ns_min\":{:.1f},\"ns_median\":{:.1f},\"allocations\":{:.4f}}}",
        i == 0 ? "" : ",", all[i].name, all[i].keys, ns.front(), ns[ns.size() / 2], all[i].allocations);
  }
  fmt::print("\n]}}\n");
}

std::size_t number_of(std::string_view text) {
  std::size_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0)
    stop("not a number above 0: " + std::string(text));
  return number;
}

}  // namespace
}  // namespace sluice::bench

int main(int count, char** words) {
  using namespace sluice::bench;
  using sluice::v1::Concurrency;
  std::size_t rounds = 7, subject_count = 1'000'000;
  std::string_view only;
  for (int i = 1; i < count; i += 2) {
    const std::string_view flag = words[i], value = i + 1 < count ? words[i + 1] : "";
    if (flag == "--rounds")
      rounds = number_of(value);
    else if (flag == "--subjects")
      subject_count = number_of(value);
    else if (flag == "--only")
      only = value;
    else
      stop("bench_library [--rounds N] [--subjects N] [--only NAME]");
  }
  if (subject_count > 10'000'000) stop("subjects are numbered with seven digits");

  const std::string subjects = make_subjects(subject_count);
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
    if (!only.empty() && only != row.name) continue;
    // For as long as the program runs.
    auto* const asked = new Asked{*open(row.limit, row.concurrency, row.metrics).release(), subjects};
    all.push_back({row.name, "one",
                   [asked](std::size_t times) {
                     for (; times > 0; --times) asked->ask("user:0000000");
                   },
                   200'000});
    all.push_back({row.name, "many",
                   [asked](std::size_t times) {
                     for (; times > 0; --times) asked->ask_next();
                   },
                   subject_count});
  }
  measure(all, rounds);
  print(all, subject_count);
}
