// Sends the answers to questions of what-if, one at a time, and knows which questions this agent was asked before.
//
// Thread: one loop.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>

#include "common/http_client/client.hpp"
#include "common/sync/whatif.hpp"
#include "engine/follow/server_link.hpp"

namespace sluice::follow {

class AnswerSender {
 public:
  static constexpr std::size_t kRemembered = 64;  // questions
  static constexpr std::size_t kMaxWaiting = 16;  // answers; the oldest is dropped for a newer one

  AnswerSender(boost::asio::io_context& context, ServerLink& link) : link_(link), client_(context, link.server()) {}

  // Returns false if the question was begun before.
  bool begin(std::string_view question_id);
  void send(const sync::WhatIfAnswer& answer);
  void stop();

 private:
  void send_next();

  ServerLink& link_;
  http_client::Client client_;
  std::deque<std::string> begun_;    // ids, the oldest first
  std::deque<std::string> waiting_;  // bodies
};

}  // namespace sluice::follow
