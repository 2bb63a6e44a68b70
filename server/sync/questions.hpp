// The questions of what-if that agents are to answer now. A call of the admin API writes one into PostgreSQL
// (admin/whatif_api); the feed of each server reads it, and its watches take it to the agents.
//
// The functions throw what libpqxx throws. REQUIRES: the transaction has entered Scope::everything().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/sync/whatif.hpp"
#include "server/postgres/transaction.hpp"
#include "server/sync/fleet_port.hpp"

namespace sluice::server::sync {

// The channel of PostgreSQL's notifications about new questions.
inline constexpr std::string_view kQuestionChannel = "sluice_whatif";

struct OpenQuestion {
  std::string organization_id;  // of the tenant
  sluice::sync::WhatIfQuestion question;
};
using OpenQuestions = std::vector<std::shared_ptr<const OpenQuestion>>;

OpenQuestions read_questions(postgres::Transaction& tx);

// Stores the answers of agents. Thread: the server's loop; no function blocks.
class AnswerPort {
 public:
  enum class Stored : std::uint8_t {
    yes,
    not_asked,  // the question is over, is of another scope, was answered by this agent, or nobody knows the agent
    unavailable,
  };
  using Done = std::function<void(Stored stored)>;  // called on the loop

  virtual void store(const AgentCaller& caller, std::string_view agent_id, const sluice::sync::WhatIfAnswer& answer,
                     Done done) = 0;

 protected:
  ~AnswerPort() = default;
};

}  // namespace sluice::server::sync
