#include "agent/api/batch.hpp"

#include <new>

#include <fmt/core.h>

#include "agent/api/refusals.hpp"
#include "common/domain/check_batch.hpp"
#include "common/domain/decision.hpp"

namespace sluice::agent::api {
namespace {

// Bytes that an idle batch keeps in each buffer. A batch of 256 ordinary checks needs less.
constexpr std::size_t kMaxIdleBytes = std::size_t{128} << 10;

void clear(std::string& text) {
  text.clear();
  if (text.capacity() > kMaxIdleBytes) text.shrink_to_fit();
}

}  // namespace

void Batch::start(const http::Request& http, RouteReply reply, std::optional<decide::Caller> caller) {
  reply_.emplace(std::move(reply));
  caller_ = std::move(caller);
  if (caller_) origin_ = caller_->origin();
  origin_.batch = true;
  try {
    if (!split(http)) return;
  } catch (const std::bad_alloc&) {
    reply_->send(http::kNoMemoryResponse);
    return return_to_pool();
  }
  open_ = spans_.size() + 1;
  for (std::size_t slot = 0; slot < spans_.size(); ++slot) begin(slot);
  close_one();
}

// Returns false if the batch is answered already, because it is invalid.
bool Batch::split(const http::Request& http) {
  reply_->keep_request_id(request_id_);
  traceparent_ = http.header("traceparent");
  body_.assign(http.body.data(), http.body.size());  // a copy, because the connection reuses its buffer
  auto faults = split_checks(body_, spans_);
  if (!faults.empty()) {
    refuse_all(faults);
    return false;
  }
  result_ranges_.resize(spans_.size());
  while (elements_.size() < spans_.size()) elements_.emplace_back(decider_);
  return true;
}

void Batch::begin(std::size_t slot) {
  try {
    begin_check(slot);
  } catch (const std::bad_alloc&) {
    decider_.count_overload();
    refuse_without_memory(slot);
  }
}

void Batch::begin_check(std::size_t slot) {
  if (spans_[slot].size() > kMaxCheckBytes) return refuse_size(slot);
  auto place = decider_.admit();
  if (!place) return decided(slot, place.error());
  Element& element = elements_[slot];
  auto faults = parse_check(spans_[slot], element.request);
  if (!faults.empty()) return refuse(slot, problem_of(faults, element.request.request_id));
  if (element.request.wait) return refuse_wait(slot);
  if (!caller_->is_of(element.request.tenant_id)) {
    return refuse(slot,
                  problem_of({.kind = decide::Refusal::Kind::other_tenant, .request_id = element.request.request_id}));
  }
  element.check.start(*std::move(place), *caller_, origin_, element.request, {traceparent_, &reply_->span()}, *this,
                      slot);
}

void Batch::refuse_size(std::size_t slot) {
  refuse(slot, {.status = 413,
                .type = "/problems/body-too-large",
                .detail = "A check is at most 16 KiB long.",
                .errors = {{"", fmt::format("is {} bytes long", spans_[slot].size())}}});
}

// A held check would hold the results of all others.
void Batch::refuse_wait(std::size_t slot) {
  refuse(slot,
         problem_of({{.status = 422,
                      .pointer = "/wait",
                      .text = "must not be in a batch, which is answered at once; leave it out, or send the check "
                              "alone to /v1/check"}},
                    elements_[slot].request.request_id));
}

void Batch::refuse_all(const std::vector<RequestFault>& faults) {
  const Faults errors = located(faults, body_);  // splitting has not changed it
  const unsigned status = faults.front().status;
  send_problem(*reply_,
               {.status = status,
                .type = kInvalid,
                .detail = status == 400 ? "The body is not a batch of checks." : "A batch holds 1 to 256 checks.",
                .errors = errors});
  return_to_pool();
}

void Batch::decided(std::size_t slot, const Decision& decision) {
  const std::size_t at = results_.size();
  write_decision(decision, results_);
  add_result(slot, at);
}

void Batch::refused(std::size_t slot, const decide::Refusal& refusal) {
  if (refusal.kind == decide::Refusal::Kind::out_of_memory) return refuse_without_memory(slot);
  refuse(slot, problem_of(refusal));
}

void Batch::refuse_without_memory(std::size_t slot) {
  result_ranges_[slot] = {.without_memory = true};
  close_one();
}

void Batch::refuse(std::size_t slot, CheckProblem problem) {
  for (Fault& fault : problem.errors) fault.pointer.insert(0, fmt::format("/checks/{}", slot));
  const std::size_t at = results_.size();
  count_refusal(reply_->refusals(), problem.problem());
  http::write_problem(problem.problem(), results_);
  add_result(slot, at);
}

void Batch::add_result(std::size_t slot, std::size_t began_at) {
  result_ranges_[slot] = {.at = began_at, .size = results_.size() - began_at};
  close_one();
}

void Batch::close_one() {
  if (--open_ == 0) send();
}

void Batch::send() {
  try {
    send_results();
  } catch (const std::bad_alloc&) {
    reply_->send(http::kNoMemoryResponse);
  }
  return_to_pool();
}

void Batch::send_results() {
  out_ = R"({"results":[)";
  for (const ResultRange& range : result_ranges_) {
    if (&range != result_ranges_.data()) out_ += ',';
    if (range.without_memory) {
      out_ += kOverloadDecision;
    } else {
      out_.append(results_, range.at, range.size);
    }
  }
  out_ += "]}";
  send_json(*reply_, 200, out_);
}

void Batch::return_to_pool() {
  reply_.reset();
  caller_.reset();
  clear(body_);
  clear(results_);
  clear(out_);
  pool_.give_back(*this);
}

}  // namespace sluice::agent::api
