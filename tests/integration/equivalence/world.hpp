// One history: a plan and its counters on one time line, driven at random through the production scripts in the server
// and through MemoryCounters, every answer compared.
//
// The history follows from its seed alone: it is made from the answers of MemoryCounters, so the commands can be sent
// in batches and the server's answers compared when they come.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/domain/quota_period.hpp"
#include "common/limiter/memory_store.hpp"
#include "common/limiter/script_calls.hpp"
#include "tests/integration/equivalence/pipeline.hpp"
#include "tests/integration/equivalence/plans.hpp"
#include "tests/integration/equivalence/random.hpp"
#include "tests/integration/equivalence/reference.hpp"
#include "tests/integration/equivalence/tally.hpp"

namespace sluice::test {

// The instrumented copies of the scripts, by limiter::Script; "" where a world does not run through them.
using InstrumentedShas = std::array<std::string, limiter::kScripts>;

class World {
 public:
  World(const Random& seeds, std::int64_t index, Pipeline& pipeline, Tally& tally, const InstrumentedShas* instrumented,
        bool verbose);

  // Throws std::runtime_error at the first difference; it may be thrown by a later world's run, or by the pipeline's
  // end.
  void run(std::int64_t steps);

 private:
  class SteppedClock final : public Clock {
   public:
    std::int64_t now_us() const override { return now; }
    std::int64_t now = 0;
  };

  // Time.
  void set_time(std::int64_t to);
  void move();
  std::int64_t next_time();
  std::int64_t landmark();
  void forget_before_stepping_back();

  // What happens.
  void adopt_plan();
  void change_plan();
  void put_overrides();
  void put_window_override();
  void write_overrides(const std::string& key, const std::vector<limiter::OverrideEntry>& entries);
  void reset();
  void change_lease();
  limiter::Call make_call();
  void bring_limits(limiter::Call& call);
  bool may_bring(const limiter::Call& call, std::size_t rule, std::int64_t limit) const;
  std::int64_t random_cost(const std::string& unit);
  limiter::Outcome judge(const limiter::Call& call);
  void note(const limiter::Call& call, const limiter::Outcome& outcome, bool charged);
  // With another rulebook, on keys of its own, in one call.
  limiter::Call make_companion_call();
  limiter::Outcome judge_jointly(const limiter::Call& call);
  void retry(const limiter::Call& call, const limiter::Outcome& denial);
  void retry_in_place(const limiter::Call& call, std::int64_t at);
  void retry_on_copies(const limiter::Call& call, std::int64_t at);
  bool has_reference() const { return flavour_ == Flavour::single || flavour_ == Flavour::windowed; }
  bool overrides_fit(const RandomPlan& plan) const;

  // To the server.
  void send_check(std::string_view prefix, const limiter::Call& call, std::int64_t periods_at, Pipeline::Expectation);
  template <class Write>
  void send(std::string_view prefix, limiter::Script script, Write write, Pipeline::Expectation expectation);
  void send_wrong_period(const limiter::Call& call);
  void expect_outcome(std::string_view prefix, const limiter::Call& call, const limiter::Outcome& outcome);
  // `expect` gets the reply of the call and that of the companion.
  using BothExpected = std::function<void(const redis::Reply& own, const redis::Reply& beside)>;
  void send_jointly(const limiter::Call& call, const limiter::Call& companion, std::size_t enforced,
                    std::int64_t companion_periods_at, const BothExpected& expect);
  void send_companion_of_wrong_period(const limiter::Call& call, const limiter::Call& companion);
  void send_spoiled_companion(const limiter::Call& call, const limiter::Call& companion, std::size_t enforced,
                              const BothExpected& expect);
  static limiter::Call as_asked(const limiter::Call& call);
  // REQUIRES: the program of `asked` is alive.
  static void expect_same(const std::string& where, const limiter::Call& asked, bool together,
                          const limiter::Outcome& outcome, const redis::Reply& reply);
  Reference& reference_of(const std::string& counter_key, const RandomPlan& plan);
  void compare_with_reference(const limiter::Call& call, const limiter::Outcome& outcome, const RandomPlan& plan,
                              bool charged);
  std::vector<std::string> collection_keys(const limiter::Call& call) const;

  bool numbers_changed_since_written(const limiter::Call& call) const;
  bool numbers_are_exact(const limiter::Call& call);
  const limiter::OverrideEntry* override_of(const limiter::Call& call, std::size_t rule) const;
  bool override_ends_by(const limiter::Call& call, std::int64_t at) const;
  std::string group_key(std::size_t group, bool put) const;
  std::string origin() const;
  void log(const std::string& line) const;
  [[noreturn]] void fail(const std::string& what) const;

  Random random_;
  const std::int64_t index_;
  Pipeline& pipeline_;
  Tally& tally_;
  const InstrumentedShas* const instrumented_;  // nullptr: not run through them
  const bool verbose_;
  const Flavour flavour_;

  SteppedClock clock_;
  limiter::MemoryCounters memory_;
  std::map<std::string, Reference> references_;  // by counter key; if has_reference()
  RandomPlan plan_;
  std::shared_ptr<const limiter::Program> program_;
  std::shared_ptr<const limiter::Program> asked_;  // of the last call: program_, or a copy with limits that it brings
  RandomPlan companion_plan_;                      // of the other rulebook
  std::shared_ptr<const limiter::Program> companion_;
  std::int64_t step_ = 0;

  std::set<std::string> keys_;  // all that this world ever named, as the production script knows them
  std::vector<std::int64_t> landmarks_;
  std::map<std::string, std::int64_t> left_;  // unit → what was left at the last look
  std::map<std::string, std::vector<limiter::OverrideEntry>> overrides_;
  std::vector<limiter::OverrideEntry> window_overrides_;  // windowed flavour only
  std::vector<std::vector<limiter::LeaseRef>> leases_;
  std::uint64_t numbers_ = 0;                          // counts up whenever plan or overrides change
  std::map<std::string, std::uint64_t> written_with_;  // counter key → numbers_ when it was last written
};

// Writes one call of a script; for the keys of the instrumented copies ("cv"), by that copy's hash. Agents' scripts are
// called as functions in every other world.
template <class Write>
void World::send(std::string_view prefix, limiter::Script script, Write write, Pipeline::Expectation expectation) {
  redis::CommandWriter& out = pipeline_.command(std::move(expectation));
  const std::size_t from = out.buffer().size();
  const bool by_function = index_ % 2 == 1 && prefix != "cv";
  write(out, by_function ? limiter::CallBy::function : limiter::CallBy::hash);
  if (prefix != "cv") return;
  const std::size_t sha = out.buffer().find(limiter::script_sha(script), from);
  out.buffer().replace(sha, limiter::script_sha(script).size(), (*instrumented_)[static_cast<std::size_t>(script)]);
}

}  // namespace sluice::test
