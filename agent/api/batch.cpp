#include "agent/api/batch.hpp"

#include <fmt/core.h>

#include "common/domain/check_batch.hpp"
#include "common/domain/decision.hpp"

namespace sluice::agent::api {
namespace {

// What a batch at rest keeps of each of its texts: a batch of 256 everyday checks needs less.
constexpr std::size_t kKeptBytes = std::size_t{128} << 10;

void empty(std::string& text) {
  text.clear();
  if (text.capacity() > kKeptBytes) text.shrink_to_fit();
}

}  // namespace

void Batch::start(const http::Request& http, RouteReply reply, std::shared_ptr<const policy::Snapshot> snapshot,
                  const policy::KeyView* key) {
  reply_.emplace(std::move(reply));
  snapshot_ = std::move(snapshot);
  traceparent_ = http.header("traceparent");
  caller_ = {.snapshot = snapshot_.get(), .key = key, .traceparent = traceparent_};
  body_.assign(http.body.data(), http.body.size());  // the connection's buffer does not wait for Redis
  auto faults = split_checks(body_, elements_);
  if (!faults.empty()) return refuse(faults);
  places_.resize(elements_.size());
  while (checks_.size() < elements_.size()) checks_.emplace_back(context_);
  open_ = elements_.size() + 1;
  for (std::size_t slot = 0; slot < elements_.size(); ++slot) begin(slot);
  close_one();
}

void Batch::begin(std::size_t slot) {
  if (elements_[slot].size() > kMaxCheckBytes) return refuse_size(slot);
  if (!caller_.key) return decided(slot, context_.unjudged(Reason::no_snapshot, true));
  if (!context_.enter()) return decided(slot, context_.unjudged(Reason::overload, false));
  checks_[slot].start(elements_[slot], caller_, *this, slot);
}

void Batch::refuse_size(std::size_t slot) {
  const Fault fault{"", fmt::format("is {} bytes long", elements_[slot].size())};
  refused(slot, {.status = 413,
                 .type = "/problems/body-too-large",
                 .detail = "A check is at most 16 KiB long.",
                 .errors = {&fault, 1}});
}

// The whole batch.
void Batch::refuse(const std::vector<RequestFault>& faults) {
  Faults errors;
  for (const RequestFault& fault : faults) errors.push_back({fault.pointer, fault.text});
  const unsigned status = faults.front().status;
  send_problem(*reply_, status, status == 400 ? "The body is not a batch of checks." : "A batch holds 1 to 256 checks.",
               errors);
  rest();
}

void Batch::decided(std::size_t slot, const Decision& decision) {
  const std::size_t at = results_.size();
  write_decision(decision, results_);
  told(slot, at);
}

// The pointers of a check are those of the body it came in.
void Batch::refused(std::size_t slot, const http::Problem& problem) {
  Faults errors(problem.errors.begin(), problem.errors.end());
  for (Fault& fault : errors) fault.pointer.insert(0, fmt::format("/checks/{}", slot));
  http::Problem in_its_place = problem;
  in_its_place.errors = errors;
  const std::size_t at = results_.size();
  http::write_problem(in_its_place, results_);
  told(slot, at);
}

void Batch::told(std::size_t slot, std::size_t began_at) {
  places_[slot] = {began_at, results_.size() - began_at};
  close_one();
}

void Batch::close_one() {
  if (--open_ == 0) send();
}

void Batch::send() {
  out_ = R"({"results":[)";
  for (const Result& place : places_) {
    if (&place != places_.data()) out_ += ',';
    out_.append(results_, place.at, place.size);
  }
  out_ += "]}";
  send_json(*reply_, 200, out_);
  rest();
}

void Batch::rest() {
  reply_.reset();
  snapshot_.reset();
  empty(body_);
  empty(results_);
  empty(out_);
  pool_.give_back(*this);
}

}  // namespace sluice::agent::api
