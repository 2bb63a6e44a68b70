// check: asks an agent, and charges; explain: asks the server which policy would decide, and charges nothing.
#include <cstdint>
#include <cstdlib>
#include <optional>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/text.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/core/text_file.hpp"

namespace sluice::ctl {
namespace {

struct CheckOptions {
  std::string resource;
  std::string subject;
  std::optional<std::int64_t> cost;
  std::string plan;
  std::vector<std::string> dimensions;
  std::string agent;
  std::string key_file;
  std::string key_id;  // explain
  bool explain = false;
};

constexpr std::int64_t kMaxCost = (std::int64_t{1} << 31) - 1;  // of the decision API
constexpr std::string_view kDefaultAgent = "http://127.0.0.1:8088";
constexpr unsigned kOverLimit = 429;
constexpr unsigned kUnavailable = 503;

// Members of a check that are no texts, such as `tags`, have no option: curl is for them.
Result<std::string> check_body(const CheckOptions& options) {
  std::vector<std::string> pairs = options.dimensions;
  if (!options.resource.empty()) pairs.push_back("resource=" + options.resource);
  if (!options.subject.empty()) pairs.push_back("subject=" + options.subject);
  if (!options.plan.empty()) pairs.push_back("plan_id=" + options.plan);
  auto body = object_of_pairs(pairs, false);
  if (!body) return body;
  const auto append = [&body](std::string_view member) {
    body->pop_back();
    if (body->size() > 1) body->push_back(',');
    body->append(member).push_back('}');
  };
  if (options.cost) append(fmt::format(R"("cost":{})", *options.cost));
  if (options.explain) append(R"("explain":true)");
  return body;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

Result<std::string> api_key(const CheckOptions& options) {
  if (!options.key_file.empty()) return read_secret(options.key_file);
  if (std::string key = variable("SLUICE_API_KEY"); !key.empty()) return key;
  if (const std::string file = variable("SLUICE_API_KEY_FILE"); !file.empty()) return read_secret(file);
  return failure("key", "the agent needs an API key: set --key-file, SLUICE_API_KEY or SLUICE_API_KEY_FILE");
}

Result<Endpoint> agent_endpoint(const Invocation& invocation, const CheckOptions& options) {
  std::string address = options.agent;
  if (address.empty()) {
    if (const std::string socket = variable("SLUICE_SOCKET"); !socket.empty()) address = "unix:" + socket;
  }
  if (address.empty()) address = variable("SLUICE_URL");
  if (address.empty()) address = kDefaultAgent;
  auto url = safe_url(address, invocation.globals.insecure);
  if (!url) return std::unexpected(url.error());
  const auto timeout = invocation.timeout();
  if (!timeout) return std::unexpected(timeout.error());
  return Endpoint{.url = *url, .ca = invocation.globals.ca, .timeout = *timeout};
}

void print_decision(const json::Value& decision) {
  const bool allowed = decision.is_true("allowed");
  std::string line = fmt::format("{} ({})", allowed ? "allowed" : "denied", cell(decision.get("reason")));
  if (decision.find("limit") != nullptr) {
    line.append(fmt::format(", {} of {} left", cell(decision.get("remaining")), cell(decision.get("limit"))));
  }
  if (const json::Value retry = decision.get("retry_after_ms"); !allowed && retry.type() == json::Type::number) {
    line.append(fmt::format(", try again in {} ms", retry.text()));
  }
  for (const auto& [member, word] : {std::pair{"policy_id", "policy"}, {"plan_id", "plan"}, {"limit_name", "limit"}}) {
    if (decision.find(member) != nullptr) line.append(fmt::format(", {} {}", word, cell(decision.get(member))));
  }
  if (decision.is_true("shadow")) line.append(", in shadow mode");
  fmt::print("{}\n", line);
  if (decision.find("lease_id") != nullptr) fmt::print("lease {}\n", cell(decision.get("lease_id")));
}

void print_candidates(const json::Value& explained) {
  Table table({"POLICY", "VERSION", "PLAN", "OUTCOME", "WHY"});
  for (const json::Value& candidate : explained.items_of("candidates")) {
    table.add({cell(candidate.get("policy_id")), cell(candidate.get("policy_version")), cell(candidate.get("plan_id")),
               cell(candidate.get("outcome")), cell(candidate.get("why"))});
  }
  if (!table.empty()) fmt::print("{}", table.text());
}

Exit run_check(Invocation& invocation, const CheckOptions& options) {
  auto body = check_body(options);
  if (!body) return fail(body.error());
  const auto key = api_key(options);
  if (!key) return fail(key.error());
  auto endpoint = agent_endpoint(invocation, options);
  if (!endpoint) return fail(endpoint.error());
  Api agent(std::move(*endpoint));
  const auto answer =
      agent.send({.method = "POST", .path = "/v1/check", .body = std::move(*body), .fields = {{"x-api-key", *key}}});
  if (!answer) return fail(answer.error());
  const json::Value decision = answer->document.root();
  // A denial has the decision as its body; a problem has none.
  const bool decided = answer->ok() || ((answer->status == kOverLimit || answer->status == kUnavailable) &&
                                        decision.find("allowed") != nullptr);
  if (!decided) return fail(describe_problem(*answer));
  if (invocation.for_programs()) {
    print_document(decision, invocation.format());
  } else {
    print_decision(decision);
    if (options.explain) print_candidates(decision);
  }
  return decision.is_true("allowed") ? Exit::done : Exit::no;
}

Exit run_explain(Invocation& invocation, const CheckOptions& options) {
  const auto body = check_body(options);
  if (!body) return fail(body.error());
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  const std::string key =
      options.key_id.empty() ? "" : fmt::format(R"("key_id":{},)", json::string_literal(options.key_id));
  const auto answer = (*api)->call({.method = "POST",
                                    .path = path_to({"explain"}),
                                    .query = {{"tenant_id", invocation.tenant()}},
                                    .body = fmt::format(R"({{{}"request":{}}})", key, *body)});
  if (!answer) return fail(answer.error());
  const json::Value explained = answer->document.root();
  if (invocation.for_programs()) {
    print_document(explained, invocation.format());
    return Exit::done;
  }
  fmt::print("{}", cell(explained.get("reason")));
  for (const auto& [member, word] : {std::pair{"policy_id", "policy"},
                                     {"plan_id", "plan"},
                                     {"mode", "mode"},
                                     {"action", "action"},
                                     {"missing", "missing dimension"}}) {
    if (explained.find(member) != nullptr) fmt::print(", {} {}", word, cell(explained.get(member)));
  }
  fmt::print("\n");
  print_candidates(explained);
  return Exit::done;
}

void add_check_options(CLI::App& command, CheckOptions& options) {
  command.add_option("resource", options.resource, "What is asked for, such as GET:/orders.");
  command.add_option("-s,--subject", options.subject, "The subject that is charged.");
  command.add_option("-c,--cost", options.cost, "Units of `requests`. 0 reads and charges nothing.")
      ->check(CLI::Range(std::int64_t{0}, kMaxCost));
  command.add_option("-p,--plan", options.plan, "Judge by this plan instead of matching policies.")->type_name("ID");
  command.add_option("-d,--dimension", options.dimensions, "Another dimension, such as region=eu. May be repeated.")
      ->type_name("NAME=VALUE")
      ->take_all()
      ->allow_extra_args(false);
}

}  // namespace

void add_check(CLI::App& app, Invocation& invocation) {
  const auto [check, options] = add_command(
      app, "check", "Ask an agent whether a request may pass. It is charged. The exit code is 0 if it may, else 1.",
      invocation, run_check);
  add_check_options(*check, *options);
  check->add_option("--agent", options->agent, "The agent (SLUICE_SOCKET, SLUICE_URL; default http://127.0.0.1:8088).")
      ->type_name("URL");
  check
      ->add_option("--key-file", options->key_file,
                   "The API key, or - for stdin (SLUICE_API_KEY, SLUICE_API_KEY_FILE).")
      ->type_name("FILE");
  check->add_flag("--explain", options->explain, "Show each candidate policy, and why it decides or not.");

  const auto [explain, explain_options] =
      add_command(app, "explain", "Ask the server which policy would decide a request, and why. Nothing is charged.",
                  invocation, run_explain);
  add_check_options(*explain, *explain_options);
  explain->add_option("--key-id", explain_options->key_id, "The id of the API key that the request would have.")
      ->type_name("ID");
}

}  // namespace sluice::ctl
