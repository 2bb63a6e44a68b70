#include "agent/grpc/check_stream.hpp"

#include <memory>
#include <new>
#include <utility>

#include <protozero/pbf_writer.hpp>

#include "agent/grpc/decisions_service.hpp"
#include "agent/grpc/results.hpp"

namespace sluice::agent::rpc {

void CheckStream::start(decide::Decider& decider, StatusWriter& statuses, grpc::Reply reply) {
  std::unique_ptr<CheckStream> made(new CheckStream(decider, statuses, std::move(reply)));
  if (decider.snapshot() != nullptr) {
    const auto caller = decider.authenticate(made->api_key_);
    if (!caller) return statuses.refuse(made->reply_, refused_for(caller.error()));
  }
  if (made->reply_.listen(*made)) static_cast<void>(made.release());  // owns itself from now on
}

CheckStream::CheckStream(decide::Decider& decider, StatusWriter& statuses, grpc::Reply reply)
    : decider_(decider),
      statuses_(statuses),
      reply_(std::move(reply)),
      api_key_(api_key_of(reply_)),
      traceparent_(reply_.metadata("traceparent")) {}

void CheckStream::on_message(std::span<char> bytes) {
  if (last_) return;
  const bool was_working = std::exchange(working_, true);
  try {
    take(bytes);
  } catch (const std::bad_alloc&) {
    end_without_memory();
  }
  working_ = was_working;
  end_when_done();
}

void CheckStream::take(std::span<char> bytes) {
  const auto message = read_stream_message(bytes);
  if (!message) {
    statuses_.refuse(reply_, unreadable("sluice.v1.CheckStreamRequest"));
    over_ = last_ = true;
    return;
  }
  const std::size_t slot = take_slot();
  elements_[slot].id = message->id;
  try {
    begin(slot, message->check);
  } catch (const std::bad_alloc&) {
    end_without_memory();
    give_back(slot);
  }
  regulate();
}

std::size_t CheckStream::take_slot() {
  if (free_.empty()) {
    free_.reserve(elements_.size() + 1);  // so that give_back() never allocates
    elements_.emplace_back(decider_);
    ++open_;
    return elements_.size() - 1;
  }
  ++open_;
  const std::size_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void CheckStream::end_without_memory() {
  reply_.finish(kNoMemory);
  over_ = last_ = true;
}

// The answer may come before this function returns.
void CheckStream::begin(std::size_t slot, std::span<char> check) {
  Element& element = elements_[slot];
  auto place = decider_.admit();
  if (!place) return decided(slot, place.error());
  auto caller = decider_.authenticate(api_key_);
  if (!caller) {
    statuses_.refuse(reply_, refused_for(caller.error()));
    over_ = last_ = true;
    return give_back(slot);
  }
  element.caller = *std::move(caller);
  element.bytes.assign(check.data(), check.size());
  if (const auto refusal = read_one(element.bytes, element.caller, element.message)) return refuse(slot, *refusal);
  element.check.start(*std::move(place), element.caller, element.caller.origin(), element.message.request, trace(),
                      *this, slot);
}

// A stream may last for hours. Unless its client has put it into a trace, each check begins one of its own.
decide::CheckTrace CheckStream::trace() const {
  return {traceparent_, traceparent_.empty() ? nullptr : &reply_.span()};
}

void CheckStream::decided(std::size_t slot, const Decision& decision) {
  write_result(decision, result_, part_);
  answer(slot);
}

void CheckStream::refused(std::size_t slot, const decide::Refusal& refusal) {
  if (refusal.kind != decide::Refusal::Kind::out_of_memory) return refuse(slot, refused_for(refusal));
  end_without_memory();
  give_back(slot);
}

void CheckStream::refuse(std::size_t slot, const Refused& refused) {
  write_result(refused, statuses_, result_, part_);
  answer(slot);
}

void CheckStream::answer(std::size_t slot) {
  if (!over_) {
    out_.clear();
    protozero::pbf_writer out(out_);
    out.add_uint64(1, elements_[slot].id);
    out.add_message(2, result_);
    reply_.send(out_);
  }
  give_back(slot);
}

void CheckStream::give_back(std::size_t slot) {
  elements_[slot].caller = {};
  free_.push_back(slot);
  --open_;
  if (!working_) regulate();
  end_when_done();
}

// Lets the client send while there is room.
void CheckStream::regulate() {
  if (over_) return;
  if (open_ >= kMaxOpen || reply_.waiting_bytes() > kMaxWaiting) return reply_.pause();
  const bool was_working = std::exchange(working_, true);
  reply_.go_on();
  working_ = was_working;
}

void CheckStream::on_writable() {
  regulate();
  end_when_done();
}

void CheckStream::on_half_close() {
  last_ = true;
  end_when_done();
}

void CheckStream::on_drain() {
  draining_ = last_ = true;
  end_when_done();
}

void CheckStream::on_over() {
  over_ = last_ = true;
  end_when_done();
}

void CheckStream::end_when_done() {
  if (working_ || !last_ || open_ > 0) return;
  if (!over_) {
    over_ = true;
    reply_.finish(draining_ ? grpc::Status{grpc::Code::unavailable, "The agent stops; ask another one."}
                            : grpc::Status{});
  }
  delete this;
}

}  // namespace sluice::agent::rpc
