#include "engine/follow/answer_sender.hpp"

#include <algorithm>
#include <utility>

namespace sluice::follow {
namespace {

constexpr std::size_t kMaxAnswerReply = 4096;  // bytes

}  // namespace

bool AnswerSender::begin(std::string_view question_id) {
  if (std::ranges::find(begun_, question_id) != begun_.end()) return false;
  begun_.emplace_back(question_id);
  if (begun_.size() > kRemembered) begun_.pop_front();
  return true;
}

void AnswerSender::send(const sync::WhatIfAnswer& answer) {
  waiting_.push_back(sync::write_answer(answer));
  if (waiting_.size() > kMaxWaiting) waiting_.pop_front();
  send_next();
}

void AnswerSender::stop() {
  waiting_.clear();
  client_.cancel();
}

// An answer is not sent again: the question is over before a server that was away is back.
void AnswerSender::send_next() {
  if (client_.busy() || waiting_.empty()) return;
  std::string body = std::move(waiting_.front());
  waiting_.pop_front();
  auto request = link_.request("/v1/sync/whatif");
  if (!request) return;
  request->method = "POST";
  request->body = std::move(body);
  request->max_body = kMaxAnswerReply;
  client_.send(*std::move(request), [this](const Result<http_client::Response>&) { send_next(); });
}

}  // namespace sluice::follow
