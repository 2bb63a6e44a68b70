#include "agent/rls/call.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "agent/rls/counter_name.hpp"
#include "agent/rls/describe_call.hpp"
#include "common/domain/plan.hpp"

namespace sluice::agent::rls {
namespace {

constexpr std::string_view kNegativeHits =
    "is_negative_hits is not supported: hits cannot be given back. Leave it out.";

std::uint32_t clamped(std::int64_t number) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, kMost));
}

// Windows begin at multiples of their length.
std::int64_t seconds_until_reset(std::int64_t now_us, rls_config::Unit unit) {
  const std::int64_t length = rls_config::length_of(unit).count();
  return length - now_us / 1'000'000 % length;
}

limiter::StoreResult<Judged> judged_of(const limiter::StoreResult<limiter::Outcome>& outcome) {
  if (!outcome) return std::unexpected(outcome.error());
  return Judged{
      .allowed = outcome->allowed, .now_us = outcome->now_us, .remaining = clamped(outcome->report.remaining)};
}

bool is_overload(limiter::StoreFault fault) {
  return fault == limiter::StoreFault::overload || fault == limiter::StoreFault::queue_timeout;
}

}  // namespace

void Call::StoreAnswer::judged(limiter::StoreResult<limiter::Outcome>&& outcome) {
  if (call.ended_) return;
  --call.open_;
  try {
    call.judgements_[index].outcome = judged_of(outcome);
    if (call.open_ == 0) call.on_all_outcomes();
  } catch (const std::bad_alloc&) {
    call.end_without_memory();
  }
}

void Call::start(const Request& request, Listener& listener, const tracing::ActiveSpan& span) {
  request_ = &request;
  listener_ = &listener;
  started_ = std::chrono::steady_clock::now();
  spans_.begin({.request = &span}, nullptr);
  in_force_ = service_.in_force();
  judgement_count_ = open_ = 0;
  ended_ = false;
  try {
    decide();
  } catch (const std::bad_alloc&) {
    end_without_memory();
  }
}

void Call::decide() {
  if (!in_force_.config) return refuse(Refusal::Kind::no_config, "No rate limit configuration is loaded.");
  if (std::string fault = fault_of_request(); !fault.empty()) return refuse(Refusal::Kind::invalid, std::move(fault));
  if (!enter()) {
    return refuse(Refusal::Kind::overload, "More requests are in flight than the agent, or this tenant, may have.");
  }
  find_rules();
  if (!add_judgements()) {
    return refuse(Refusal::Kind::invalid, fmt::format("Equal descriptors have more than {} hits together.", kMaxCost));
  }
  if (judgement_count_ == 0) return answer();
  if (!take_redis_time()) {
    return refuse(Refusal::Kind::overload, "Redis is busy, and this tenant has used up its time of it.");
  }
  ask_store();
}

std::string Call::fault_of_request() const {
  if (request_->domain.empty()) return "The domain must not be empty.";
  if (request_->descriptors.empty()) return "There must be at least one descriptor.";
  const auto at = [](std::size_t index, std::string_view text) {
    return fmt::format("Descriptor {}: {}", index, text);
  };
  for (std::size_t i = 0; i < request_->descriptors.size(); ++i) {
    const Descriptor& descriptor = request_->descriptors[i];
    if (descriptor.is_negative_hits) return at(i, kNegativeHits);
    if (descriptor.hits_addend.value_or(request_->hits_addend) > static_cast<std::uint64_t>(kMaxCost)) {
      return at(i, fmt::format("hits_addend must be at most {}.", kMaxCost));
    }
    if (descriptor.limit && !rls_config::unit_from(descriptor.limit->unit)) {
      return at(i, fmt::format("The unit of its limit must be one of {}.", rls_config::kUnitNames));
    }
  }
  return {};
}

bool Call::enter() {
  const Resources& resources = service_.resources();
  auto place = resources.in_flight.enter();
  if (!place) return false;
  place_ = *std::move(place);
  const decide::InFlight::Caller caller{
      .tenant = service_.origin().tenant, .key = 0, .only_tenant = resources.is_only_tenant(), .only_key = true};
  return place_.claim(caller) == decide::InFlight::Claim::granted;
}

void Call::find_rules() {
  const rls_config::Node* const domain = in_force_.config->find(request_->domain);
  if (lines_.size() < request_->descriptors.size()) lines_.resize(request_->descriptors.size());
  for (std::size_t i = 0; i < request_->descriptors.size(); ++i) find_rule(domain, i);
  drop_replaced();
}

void Call::find_rule(const rls_config::Node* domain, std::size_t index) {
  const Descriptor& descriptor = request_->descriptors[index];
  Line& line = lines_[index];
  line.rule = nullptr;
  line.is_limited = line.is_unlimited = false;
  line.judgement = kNotJudged;
  line.match.rule = nullptr;
  line.match.levels.clear();
  line.hits = descriptor.hits_addend.value_or(std::max<std::uint32_t>(request_->hits_addend, 1));
  if (domain == nullptr) return;  // a limit of the request counts only in a known domain
  if (descriptor.limit) {
    line.limit = {.name = {},
                  .requests_per_unit = descriptor.limit->requests_per_unit,
                  .unit = *rls_config::unit_from(descriptor.limit->unit)};
    line.is_limited = true;
    return;
  }
  rls_config::find_rule(*domain, descriptor.entries, line.match);
  line.rule = line.match.rule;
  if (line.rule == nullptr) return;
  line.is_unlimited = line.rule->unlimited;
  line.is_limited = !line.is_unlimited;
  line.limit = {.name = line.rule->name, .requests_per_unit = line.rule->requests_per_unit, .unit = line.rule->unit};
}

// An unlimited rule replaces others too, and is not replaced.
void Call::drop_replaced() {
  const std::span lines = std::span(lines_).first(request_->descriptors.size());
  const auto is_replaced = [&lines](std::string_view name) {
    return std::ranges::any_of(lines, [name](const Line& line) {
      return line.rule != nullptr && std::ranges::find(line.rule->replaces, name) != line.rule->replaces.end();
    });
  };
  for (Line& line : lines) {
    if (line.is_limited && !line.limit.name.empty() && is_replaced(line.limit.name)) line.is_limited = false;
  }
}

// Returns false if the hits of equal descriptors are too many.
bool Call::add_judgements() {
  const std::size_t count = request_->descriptors.size();
  const Options& options = service_.options();
  counter_head_.clear();
  append_counter_head(options.tenant, request_->domain, options.atomic, counter_head_);
  if (judgements_.size() < count) judgements_.resize(count);
  while (answers_.size() < count) answers_.emplace_back(*this, answers_.size());
  calls_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!lines_[i].is_limited) continue;
    Judgement& judgement = judgement_of(lines_[i], request_->descriptors[i]);
    judgement.hits += lines_[i].hits;
    if (judgement.hits > static_cast<std::uint64_t>(kMaxCost)) return false;
    judgement.call.costs[0] = static_cast<std::uint32_t>(judgement.hits);
  }
  return true;
}

// The rulebooks of one call of the store must have counters of their own, so equal descriptors share a judgement there.
Call::Judgement& Call::judgement_of(Line& line, const Descriptor& descriptor) {
  const bool atomic = service_.options().atomic;
  Judgement& judgement = judgements_[judgement_count_];
  judgement.call.keys.resize(1);
  std::string& name = judgement.call.keys[0];
  name.clear();
  append_counter_name(
      {.head = counter_head_, .entries = descriptor.entries, .match = line.match, .unit = line.limit.unit}, atomic,
      name);
  const auto in_use = std::span(judgements_).first(atomic ? judgement_count_ : 0);
  const auto equal = std::ranges::find_if(in_use, [&name](const Judgement& each) {
    const std::string& other = each.call.keys[0];
    return name.back() == other.back() && name == other;  // counters of one domain differ at their ends
  });
  if (equal != in_use.end()) {
    line.judgement = static_cast<std::size_t>(equal - in_use.begin());
    return *equal;
  }
  line.judgement = judgement_count_++;
  // A shared pointer's copy costs more than finding that the former program is the right one again.
  if (judgement.program == nullptr || judgement.requests_per_unit != line.limit.requests_per_unit ||
      judgement.unit != line.limit.unit) {
    judgement.program = service_.program(line.limit.requests_per_unit, line.limit.unit);
    judgement.requests_per_unit = line.limit.requests_per_unit;
    judgement.unit = line.limit.unit;
  }
  judgement.hits = 0;
  judgement.enforced = atomic && (line.rule == nullptr || (!line.rule->shadow_mode && !line.rule->quota_mode));
  judgement.call.program = judgement.program.get();
  judgement.call.origin = service_.origin();
  return judgement;
}

bool Call::take_redis_time() const {
  const Resources& resources = service_.resources();
  if (!resources.redis_time.bounds() || !resources.store.busy(started_)) return true;
  std::chrono::microseconds cost{0};
  for (const Judgement& each : std::span(judgements_).first(judgement_count_)) cost += each.program->redis_time;
  return resources.redis_time.take(service_.origin().tenant, cost, resources.agents(), resources.store.servers(),
                                   started_);
}

void Call::ask_store() {
  open_ = judgement_count_;
  spans_.ask(service_.resources().traced_store);
  limiter::CounterStore& store = service_.resources().store;
  const std::size_t count = judgement_count_;  // the last outcome may end this call, and begin another one
  if (count == 1) return store.judge(judgements_[0].call, answers_[0]);
  for (std::size_t i = 0; i < count; ++i) calls_[i] = {&judgements_[i].call, &answers_[i], judgements_[i].enforced};
  const std::span calls = std::span(calls_).first(count);
  if (!service_.options().atomic) return store.judge_each(calls);
  std::ranges::partition(calls, &limiter::RulebookCall::enforced);
  store.judge_all(calls);
}

void Call::on_all_outcomes() {
  const limiter::StoreError* const error = store_error();
  spans_.answered(error);
  if (error == nullptr) return answer();
  refuse(is_overload(error->fault) ? Refusal::Kind::overload : Refusal::Kind::store_unavailable,
         std::string(limiter::describe(error->fault)));
}

const limiter::StoreError* Call::store_error() const {
  for (const Judgement& each : std::span(judgements_).first(judgement_count_)) {
    if (!each.outcome) return &each.outcome.error();
  }
  return nullptr;
}

DescriptorVerdict Call::verdict_of(std::size_t index, DescriptorTally& tally) {
  const Line& line = lines_[index];
  DescriptorVerdict verdict{.descriptor = &request_->descriptors[index], .rule = line.rule, .status = {}};
  const auto count = [&tally](DescriptorOutcome outcome) { ++tally[static_cast<std::size_t>(outcome)]; };
  if (line.is_unlimited) {
    verdict.status.remaining = std::numeric_limits<std::uint32_t>::max();
    count(DescriptorOutcome::unlimited);
    return verdict;
  }
  if (!line.is_limited) {
    verdict.rule = nullptr;
    count(DescriptorOutcome::no_limit);
    return verdict;
  }
  const Judged& outcome = *judgements_[line.judgement].outcome;
  verdict.over_limit = !outcome.allowed;
  if (service_.resources().rule_metrics != nullptr) count_hits(line, *verdict.descriptor, outcome);
  verdict.status.limit = line.limit;
  verdict.status.reset_seconds = seconds_until_reset(outcome.now_us, line.limit.unit);
  if (outcome.allowed) {
    verdict.status.remaining = outcome.remaining;
    count(DescriptorOutcome::ok);
  } else if (line.rule != nullptr && line.rule->shadow_mode) {
    count(DescriptorOutcome::shadowed);
  } else {
    verdict.status.code = Code::over_limit;
    count(DescriptorOutcome::over_limit);
  }
  return verdict;
}

void Call::count_hits(const Line& line, const Descriptor& descriptor, const Judged& outcome) {
  series_of(line, descriptor)
      .count({.hits = line.hits,
              .limit = line.limit.requests_per_unit,
              .remaining = outcome.remaining,
              .within = outcome.allowed,
              .shadow_mode = line.rule != nullptr && line.rule->shadow_mode});
}

RuleSeries& Call::series_of(const Line& line, const Descriptor& descriptor) {
  if (line.rule != nullptr) {
    const auto found = in_force_.metrics->find(line.rule);
    if (found != in_force_.metrics->end()) return *found->second;
  }
  name_.clear();
  rls_config::append_part(request_->domain, name_);
  if (line.rule != nullptr) {
    rls_config::append_metric_parts(line.match, descriptor.entries, name_);
  } else {
    rls_config::append_metric_parts(descriptor.entries, name_);
  }
  return service_.resources().rule_metrics->of_values(name_);
}

void Call::answer() {
  verdicts_.clear();
  DescriptorTally tally{};
  for (std::size_t i = 0; i < request_->descriptors.size(); ++i) verdicts_.push_back(verdict_of(i, tally));
  const Response response = make_response(*request_, verdicts_, service_.options().parts);
  if (tracing::Span* const span = spans_.check()) [[unlikely]]
    describe_answer(service_.options().tenant, *request_, verdicts_, response, *span);
  spans_.end();
  place_.leave();
  const InForce in_force = std::exchange(in_force_, {});  // an idle Call must not keep a former configuration alive
  service_.resources().counts.add(tally);
  service_.resources().counts.count(response.code == Code::ok ? RequestOutcome::ok : RequestOutcome::over_limit);
  listener_->answered(response);
}

void Call::refuse(Refusal::Kind kind, std::string text) {
  if (tracing::Span* const span = spans_.check()) [[unlikely]]
    describe_refusal(service_.options().tenant, *request_, kind, *span);
  spans_.end();
  place_.leave();
  in_force_ = {};
  service_.resources().counts.count(kind);
  listener_->refused({.kind = kind, .text = std::move(text)});
}

void Call::end_without_memory() {
  ended_ = true;
  refuse(Refusal::Kind::out_of_memory, {});
}

}  // namespace sluice::agent::rls
