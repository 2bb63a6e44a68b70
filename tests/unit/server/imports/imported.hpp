// What the tests of importers share: import one text, and ask the policies that come of it.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/rate.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/limiter/memory_store.hpp"
#include "common/limiter/program.hpp"
#include "common/objects/bundle_json.hpp"
#include "server/imports/imports.hpp"

namespace sluice::test {

// The bundle that was made, and the notes as lines. Every bundle has passed the validator by then.
struct Made {
  std::vector<Policy> policies;
  std::vector<std::string> notes;
  std::vector<std::string> faults;

  const Policy& policy(std::string_view id) const {
    const auto found = std::ranges::find(policies, id, &Policy::id);
    if (found == policies.end()) {
      for (const Policy& each : policies) MESSAGE(each.id);
    }
    REQUIRE(found != policies.end());
    return *found;
  }
  bool notes_line(std::string_view place, std::string_view part) const { return has(notes, place, part); }
  bool faults_line(std::string_view place, std::string_view part) const { return has(faults, place, part); }

 private:
  static bool has(const std::vector<std::string>& lines, std::string_view place, std::string_view part) {
    const bool found = std::ranges::any_of(lines, [&](const std::string& line) {
      return line.starts_with(std::string(place) + ": ") && line.find(part) != std::string::npos;
    });
    if (!found) {
      for (const std::string& line : lines) MESSAGE(line);
    }
    return found;
  }
};

inline Made import_text(std::string_view from, std::string text) {
  const std::vector<server::imports::Source> sources{{"file", std::move(text)}};
  const server::imports::Importer* importer = server::imports::find_importer(from);
  REQUIRE(importer != nullptr);
  auto imported = server::imports::import_sources(*importer, sources, "shop");
  Made made;
  if (!imported) {
    for (const auto& fault : imported.error()) made.faults.push_back(describe(fault, sources));
    REQUIRE_FALSE(made.faults.empty());
    return made;
  }
  for (const auto& note : imported->notes) made.notes.push_back(describe(note, sources));
  const std::string whole = R"({"tenants":[{"id":"shop"}],)" + imported->bundle.substr(imported->bundle.find('{') + 1);
  auto bundle = parse_bundle(whole);
  if (!bundle) MESSAGE(bundle.error()[0].text);
  REQUIRE(bundle);
  CHECK(bundle->policies.size() == imported->policies);
  made.policies = std::move(bundle->policies);
  return made;
}

class DrivenClock final : public Clock {
 public:
  std::int64_t now_us() const override { return now; }
  std::int64_t now = 1'800'230'400'000'000;  // a Monday's midnight, UTC
};

// One counter of a policy, in memory, asked at times of a driven clock.
class Counter {
 public:
  explicit Counter(const Policy& policy) : program_(limiter::compile(policy.limits, {})), store_(clock_, 1) {}

  bool admits(std::int64_t at_ms, std::uint32_t cost = 1) {
    clock_.now = start_ + at_ms * 1000;
    limiter::Call call;
    call.program = &program_;
    for (std::size_t g = 0; g < program_.groups.size(); ++g) call.keys.push_back("sl:{t|u}:p=x:k=" + std::to_string(g));
    call.costs.fill(cost);
    const auto outcome = store_.judge(call);
    REQUIRE(outcome);
    return outcome->allowed;
  }
  int admitted_of(int calls, std::int64_t at_ms) {
    int count = 0;
    for (int i = 0; i < calls; ++i) count += admits(at_ms) ? 1 : 0;
    return count;
  }

 private:
  DrivenClock clock_;
  std::int64_t start_ = clock_.now;
  limiter::Program program_;
  limiter::MemoryCounters store_;
};

inline std::string dimensions(const std::vector<DimensionRef>& all) {
  std::string text;
  for (const DimensionRef& each : all) text.append(text.empty() ? "" : ",").append(to_string(each));
  return text;
}

// "attr.domain=api|x service=s" in the order of the scope.
inline std::string scope(const Policy& policy) {
  std::string text;
  for (const ScopeTerm& term : policy.scope) {
    text.append(text.empty() ? "" : " ").append(to_string(term.dimension)).append("=");
    for (std::size_t i = 0; i < term.values.size(); ++i) text.append(i == 0 ? "" : "|").append(term.values[i]);
  }
  return text;
}

}  // namespace sluice::test
