// Stores the answers of agents to questions of what-if in PostgreSQL, where the server that was asked reads them.
//
// Thread: the server's loop. The statements run on the pool's threads.
#pragma once

#include <string_view>

#include <boost/asio/io_context.hpp>

#include "server/postgres/pool.hpp"
#include "server/sync/questions.hpp"

namespace sluice::server::fleet {

class WhatIfAnswers final : public sync::AnswerPort {
 public:
  // REQUIRES: the pool has stopped before the loop is destroyed.
  WhatIfAnswers(boost::asio::io_context& loop, postgres::Pool& pool) : loop_(loop), pool_(pool) {}

  void store(const sync::AgentCaller& caller, std::string_view agent_id, const sluice::sync::WhatIfAnswer& answer,
             Done done) override;

 private:
  boost::asio::io_context& loop_;
  postgres::Pool& pool_;
};

}  // namespace sluice::server::fleet
