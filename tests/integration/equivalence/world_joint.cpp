// A history's calls that judge two rulebooks: its plan and a companion on keys of its own, in one script call.
#include <stdexcept>

#include "common/limiter/memory_judge.hpp"
#include "tests/integration/equivalence/world.hpp"

namespace sluice::test {

using limiter::Call;
using limiter::CallBy;
using limiter::CheckPart;
using limiter::Outcome;
using limiter::Script;

namespace {

struct Kept final : limiter::JudgeListener {
  void judged(limiter::StoreResult<Outcome>&& result) override { outcome = *std::move(result); }
  Outcome outcome;
};

}  // namespace

Call World::make_companion_call() {
  Call call;
  call.program = companion_.get();
  call.explain = random_.percent(50);
  for (std::size_t g = 0; g < companion_->groups.size(); ++g) {
    const limiter::Group& compiled = companion_->groups[g];
    std::string& key = call.keys.emplace_back("sl:{t|subject=w" + std::to_string(index_) + "}:p=y");
    if (!compiled.added.empty()) key += ":k=" + companion_->limits[compiled.first].name + "|method=GET";
  }
  for (std::size_t i = 0; i < companion_->rules.size(); ++i) {
    call.costs[i] = static_cast<std::uint32_t>(random_.percent(80) ? random_.between(0, 3) : random_.scale(kMaxCost));
  }
  for (unsigned char& byte : call.draw) byte = static_cast<unsigned char>(random_.below(256));
  keys_.insert(call.keys.begin(), call.keys.end());
  for (std::string& key : collection_keys(call)) keys_.insert(std::move(key));
  return call;
}

// A third of the calls enforces both rulebooks, a third has the companion as a shadow, a third has two shadows.
Outcome World::judge_jointly(const Call& call) {
  ++tally_.joint;
  const Call companion = make_companion_call();
  const auto enforced = static_cast<std::size_t>(random_.between(0, 2));
  const bool together = enforced == 2;
  const bool spoiled = random_.percent(2);
  if (together && companion_->has_quotas && random_.percent(10)) send_companion_of_wrong_period(call, companion);
  if (together && spoiled) {
    send_spoiled_companion(call, companion, 2, [where = origin()](const redis::Reply& own, const redis::Reply&) {
      if (!own.is_error()) throw std::runtime_error(where + "judged together with a spoiled key");
    });
  }
  Kept own, other;
  const limiter::RulebookCall both[] = {{&call, &own, enforced > 0}, {&companion, &other, together}};
  const bool alone = spoiled && !together;
  limiter::MemoryStore(memory_).judge_all(std::span(both).first(alone ? 1 : 2));
  const Outcome &outcome = own.outcome, &beside = other.outcome;
  const auto expect_own = [where = origin(), program = asked_, asked = as_asked(call), together, outcome](
                              const redis::Reply& reply, const redis::Reply&) {
    expect_same(where + "in a joint call: ", asked, together, outcome, reply);
  };
  const bool both_admit = outcome.allowed && beside.allowed;
  if (alone) {
    send_spoiled_companion(call, companion, enforced, expect_own);
  } else {
    send_jointly(call, companion, enforced, clock_.now,
                 [expect_own, where = origin(), program = companion_, asked = as_asked(companion), together, beside](
                     const redis::Reply& reply, const redis::Reply& reply_beside) {
                   expect_own(reply, reply_beside);
                   expect_same(where + "the companion: ", asked, together, beside, reply_beside);
                 });
    if (has_reference()) {
      compare_with_reference(companion, beside, companion_plan_, together ? both_admit : beside.allowed);
    }
  }
  const bool charged = together ? both_admit : outcome.allowed;
  if (has_reference()) compare_with_reference(call, outcome, plan_, charged);
  note(call, outcome, charged);
  return outcome;
}

void World::send_jointly(const Call& call, const Call& companion, std::size_t enforced,
                         std::int64_t companion_periods_at, const BothExpected& expect) {
  std::array<PeriodBounds, kMaxLimitsPerPlan> periods, companion_periods;
  limiter::quota_periods(*call.program, clock_.now, periods);
  limiter::quota_periods(*companion.program, companion_periods_at, companion_periods);
  for (const std::string_view prefix : {"sl", "cv"}) {
    if (prefix == "cv" && instrumented_ == nullptr) break;
    Call named = call, named_companion = companion;
    for (std::string& key : named.keys) key.replace(0, 2, prefix);
    for (std::string& key : named_companion.keys) key.replace(0, 2, prefix);
    const std::array<CheckPart, 2> parts{CheckPart{&named, periods}, CheckPart{&named_companion, companion_periods}};
    send(
        prefix, Script::check_many,
        [&](redis::CommandWriter& out, CallBy by) { limiter::write_check_many(out, parts, enforced, by); },
        [where = origin(), expect](const redis::Reply& reply) {
          if (reply.is_error()) throw std::runtime_error(where + "the script failed: " + std::string(reply.text));
          if (reply.elements.size() != 2) throw std::runtime_error(where + "two rulebooks have other replies");
          expect(reply.elements[0], reply.elements[1]);
        });
  }
}

// Where the period of one enforced rulebook does not hold, all of them say so and nothing is charged.
void World::send_companion_of_wrong_period(const Call& call, const Call& companion) {
  const std::int64_t off = clock_.now + random_.pick<std::int64_t>({-1, 1}) * random_.scale(70'000'000'000'000);
  std::array<PeriodBounds, kMaxLimitsPerPlan> now, wrong;
  limiter::quota_periods(*companion_, clock_.now, now);
  limiter::quota_periods(*companion_, off, wrong);
  bool differs = false;
  for (std::size_t i = 0; i < companion_->rules.size(); ++i) {
    if (companion_->rules[i].periodic) differs |= !(now[i] == wrong[i]);
  }
  if (!differs) return;
  limiter::Cell untouched[2 * kMaxLimitsPerPlan];
  std::vector<limiter::Cell*> cells;
  for (limiter::Cell& cell : untouched) cells.push_back(&cell);
  std::array<PeriodBounds, kMaxLimitsPerPlan> own_now;
  limiter::quota_periods(*program_, clock_.now, own_now);
  const std::size_t groups = program_->groups.size();
  const limiter::MemoryPart parts[] = {
      {&call, std::span(cells).first(groups), own_now},
      {&companion, std::span(cells).subspan(groups, companion_->groups.size()), wrong}};
  Outcome outcomes[2];
  if (limiter::judge_together_in_memory(parts, clock_.now, outcomes)) fail("memory took a companion's wrong period");
  const auto expect_time = [where = origin(), at = clock_.now](const limiter::Program& program,
                                                               const redis::Reply& reply) {
    Call asked;
    asked.program = &program;
    const auto read = limiter::read_check(reply, asked, true);
    if (!read || read->outcome || read->wrong_period.now_us != at) {
      throw std::runtime_error(where + "a wrong period of an enforced rulebook was taken");
    }
  };
  send_jointly(
      call, companion, 2, off,
      [expect_time, program = program_, beside = companion_](const redis::Reply& own, const redis::Reply& other) {
        expect_time(*program, own);
        expect_time(*beside, other);
      });
}

// A key of the companion holds no state. The companion gets an error; `expect` says what the plan gets.
void World::send_spoiled_companion(const Call& call, const Call& companion, std::size_t enforced,
                                   const BothExpected& expect) {
  Call spoiled = companion;
  for (std::string& key : spoiled.keys) key += "spoiled";
  const bool wrong_type = random_.percent(50);
  const auto write_key = [&](const std::string& key) {
    auto& out = pipeline_.command([](const redis::Reply&) {});
    out.array(3).bulk(wrong_type ? "RPUSH" : "SET").bulk(key).bulk("short");
  };
  write_key(spoiled.keys[0]);
  write_key("cv" + spoiled.keys[0].substr(2));
  send_jointly(call, spoiled, enforced, clock_.now,
               [where = origin(), expect](const redis::Reply& own, const redis::Reply& other) {
                 if (!other.is_error()) throw std::runtime_error(where + "a spoiled key was judged");
                 expect(own, other);
               });
  auto& del = pipeline_.command([](const redis::Reply&) {});
  del.array(3).bulk("DEL").bulk(spoiled.keys[0]).bulk("cv" + spoiled.keys[0].substr(2));
}

}  // namespace sluice::test
