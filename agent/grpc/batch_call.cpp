#include "agent/grpc/batch_call.hpp"

#include <new>
#include <utility>

#include <protozero/pbf_writer.hpp>

#include "agent/grpc/decision_message.hpp"
#include "agent/grpc/results.hpp"
#include "common/domain/check_batch.hpp"

namespace sluice::agent::rpc {

void BatchCall::start(std::span<char> message, grpc::Reply reply, std::optional<decide::Caller> caller) {
  reply_.emplace(std::move(reply));
  caller_ = std::move(caller);
  if (caller_) origin_ = caller_->origin();
  origin_.batch = true;
  try {
    if (!split(message)) return;
  } catch (const std::bad_alloc&) {
    reply_->finish(kNoMemory);
    return return_to_pool();
  }
  open_ = spans_.size() + 1;
  for (std::size_t slot = 0; slot < spans_.size(); ++slot) begin(slot);
  close_one();
}

// Returns false if the batch is answered already, because it is invalid.
bool BatchCall::split(std::span<char> message) {
  traceparent_ = reply_->metadata("traceparent");
  const auto faults = read_batch(message, spans_);
  if (!faults.empty()) {
    Refused refused = refused_for(faults, {});
    refused.problem.detail = "A batch holds 1 to 256 checks.";
    statuses_.refuse(*reply_, refused);
    return_to_pool();
    return false;
  }
  while (elements_.size() < spans_.size()) elements_.emplace_back(decider_);
  for (std::size_t slot = 0; slot < spans_.size(); ++slot) elements_[slot].result.clear();
  return true;
}

void BatchCall::begin(std::size_t slot) {
  try {
    begin_check(slot);
  } catch (const std::bad_alloc&) {
    decider_.count_overload();
    refuse_without_memory(slot);
  }
}

void BatchCall::begin_check(std::size_t slot) {
  auto place = decider_.admit();
  if (!place) return decided(slot, place.error());
  Element& element = elements_[slot];
  auto refusal = read_one(spans_[slot], *caller_, element.message);
  if (refusal) return refuse(slot, *refusal);
  element.check.start(*std::move(place), *caller_, origin_, element.message.request, {traceparent_, &reply_->span()},
                      *this, slot);
}

void BatchCall::decided(std::size_t slot, const Decision& decision) {
  write_result(decision, elements_[slot].result, part_);
  close_one();
}

void BatchCall::refused(std::size_t slot, const decide::Refusal& refusal) {
  if (refusal.kind == decide::Refusal::Kind::out_of_memory) return refuse_without_memory(slot);
  refuse(slot, refused_for(refusal));
}

void BatchCall::refuse(std::size_t slot, const Refused& refused) {
  write_result(refused, statuses_, elements_[slot].result, part_);
  close_one();
}

// A result that is empty says that there is none; that takes no memory.
void BatchCall::refuse_without_memory(std::size_t slot) {
  elements_[slot].result.clear();
  close_one();
}

void BatchCall::close_one() {
  if (--open_ == 0) send();
}

void BatchCall::send() {
  try {
    out_.clear();
    protozero::pbf_writer out(out_);
    for (std::size_t slot = 0; slot < spans_.size(); ++slot) out.add_message(1, elements_[slot].result);
    reply_->finish(out_);
  } catch (const std::bad_alloc&) {
    reply_->finish(kNoMemory);
  }
  return_to_pool();
}

void BatchCall::return_to_pool() {
  reply_.reset();
  caller_.reset();
  pool_.give_back(*this);
}

}  // namespace sluice::agent::rpc
