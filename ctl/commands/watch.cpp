// watch: decisions as they are made; top: the subjects that are throttled most.
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <thread>

#include <fmt/core.h>
#include <unistd.h>

#include "common/base/text.hpp"
#include "common/base/timestamp.hpp"
#include "common/json/writer.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/core/document.hpp"
#include "ctl/core/metrics_text.hpp"
#include "ctl/core/time_option.hpp"

namespace sluice::ctl {
namespace {

using namespace std::chrono_literals;
using SteadyTime = std::chrono::steady_clock::time_point;

struct WatchOptions {
  std::string metrics;
  std::string interval = "2s";
  std::string since = "5m";
  std::uint64_t count = 0;
};

struct TopOptions {
  std::string since = "1h";
  std::string policy;
  std::string limit = "20";
};

std::string now_text() {
  return format_timestamp(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
}

// Prints a table in place of the one before on a terminal, else below it.
void redraw(const std::string& headline, const Table& table) {
  if (::isatty(STDOUT_FILENO) != 0) fmt::print("\x1b[H\x1b[2J");
  fmt::print("{}\n{}\n", headline, table.empty() ? "No decisions.\n" : table.text());
  flush_output();
}

// For programs: JSON with a line for each reading, or YAML with a document for each.
void print_reading(const Items& items, Format format) {
  const std::string reading = fmt::format(R"({{"at":"{}",{})", now_text(), items.json().substr(1));
  if (format == Format::yaml) {
    fmt::print("---\n");
    print_document(Document::parse(reading)->root(), format);
  } else {
    fmt::print("{}\n", reading);
  }
  flush_output();
}

// What the agents reported: a server has it after their report interval.
Result<> show_reported(Invocation& invocation, const WatchOptions& options) {
  const auto api = invocation.server();
  if (!api) return std::unexpected(api.error());
  const auto since = time_of("--since", options.since);
  if (!since) return std::unexpected(since.error());
  Table table({"TENANT", "POLICY", "OUTCOME", "COUNT"});
  Items items;
  const auto listed = (*api)->list({.path = path_to({"analytics"}),
                                    .query = {{"tenant_id", invocation.tenant()},
                                              {"since", *since},
                                              {"by", "tenant,policy,outcome"},
                                              {"limit", "1000"}}},
                                   [&](const json::Value& row) {
                                     items.add(row);
                                     table.add({cell(row.get("tenant_id")), cell(row.get("policy_id")),
                                                cell(row.get("outcome")), cell(row.get("count"))});
                                     return true;
                                   });
  if (!listed) return listed;
  if (invocation.for_programs()) {
    print_reading(items, invocation.format());
    return {};
  }
  redraw(fmt::format("{}  decisions since {}", now_text(), *since), table);
  return {};
}

// The rates of one agent, from two readings of its metrics.
class AgentRates {
 public:
  AgentRates(Endpoint endpoint, const Invocation& invocation) : api_(std::move(endpoint)), invocation_(invocation) {}

  Result<> show() {
    const auto answer = api_.call({.path = "/metrics"});
    if (!answer) return std::unexpected(answer.error());
    const SteadyTime now = std::chrono::steady_clock::now();
    const auto counts = read_metric(answer->text, "sluice_decisions_total");
    if (!before_.empty()) {
      const double seconds = std::chrono::duration<double>(now - at_).count();
      Table table({"TENANT", "POLICY", "OUTCOME", "REASON", "PER SECOND"});
      Items items;
      for (const auto& [labels, count] : counts) {
        const auto known = before_.find(labels);
        const double rate = (count - (known == before_.end() ? 0 : known->second)) / seconds;
        if (rate <= 0) continue;
        const auto label = [&labels](std::string_view name) {
          const auto found = labels.find(name);
          return found == labels.end() || found->second.empty() ? std::string("-") : printable(found->second);
        };
        items.add(Document::parse(json_of(labels, rate))->root());
        table.add({label("tenant"), label("policy"), label("outcome"), label("reason"), fmt::format("{:.1f}", rate)});
      }
      if (invocation_.for_programs()) {
        print_reading(items, invocation_.format());
      } else {
        redraw(fmt::format("{}  decisions a second", now_text()), table);
      }
    }
    before_ = counts;
    at_ = now;
    return {};
  }

 private:
  static std::string json_of(const Labels& labels, double rate) {
    json::Writer out(json::Writer::Layout::compact);
    out.begin_object();
    for (const auto& [name, value] : labels) out.field(name, value);
    out.field("per_second", rate);
    out.end_object();
    return out.take();
  }

  Api api_;
  const Invocation& invocation_;
  std::map<Labels, double> before_;
  SteadyTime at_;
};

Exit run_watch(Invocation& invocation, const WatchOptions& options) {
  const auto interval = duration_of("--interval", options.interval, 100ms);
  if (!interval) return fail(interval.error());
  const auto timeout = invocation.timeout();
  if (!timeout) return fail(timeout.error());
  std::unique_ptr<AgentRates> agent;
  if (!options.metrics.empty()) {
    auto url = http_client::parse_url(options.metrics);
    if (!url) return fail(fmt::format("--metrics {}: {}", sluice::quoted(options.metrics), url.error().text));
    agent = std::make_unique<AgentRates>(Endpoint{.url = *url, .ca = invocation.globals.ca, .timeout = *timeout},
                                         invocation);
    // The first reading has nothing to compare with.
    if (Result<> first = agent->show(); !first) return fail(first.error());
    std::this_thread::sleep_for(*interval);
  }
  for (std::uint64_t shown = 0; options.count == 0 || shown < options.count; ++shown) {
    if (shown > 0) std::this_thread::sleep_for(*interval);
    const Result<> done = agent ? agent->show() : show_reported(invocation, options);
    if (!done) return fail(done.error());
  }
  return Exit::done;
}

Exit run_top(Invocation& invocation, const TopOptions& options) {
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  const auto since = time_of("--since", options.since);
  if (!since) return fail(since.error());
  const auto answer = (*api)->call({.path = path_to({"analytics", "subjects"}),
                                    .query = {{"tenant_id", invocation.tenant()},
                                              {"policy_id", options.policy},
                                              {"since", *since},
                                              {"limit", options.limit}}});
  if (!answer) return fail(answer.error());
  if (invocation.for_programs()) {
    print_document(answer->document.root(), invocation.format());
    return Exit::done;
  }
  Table table({"SUBJECT", "TENANT", "POLICY", "DENIED"});
  for (const json::Value& row : answer->document.root().items_of("items")) {
    table.add(
        {cell(row.get("subject")), cell(row.get("tenant_id")), cell(row.get("policy_id")), cell(row.get("count"))});
  }
  if (table.empty()) {
    fmt::print(stderr, "No subject was throttled since {}.\n", *since);
  } else {
    fmt::print("{}", table.text());
  }
  return Exit::done;
}

}  // namespace

void add_watch(CLI::App& app, Invocation& invocation) {
  const auto [watch, options] = add_command(
      app, "watch", "Show decisions as they are counted: of all agents as they report, or of one agent at once.",
      invocation, run_watch);
  watch
      ->add_option("--metrics", options->metrics,
                   "An agent's admin port, such as http://127.0.0.1:9088: its rates, live.")
      ->type_name("URL");
  watch->add_option("--interval", options->interval, "The time between two readings.")
      ->type_name("DURATION")
      ->capture_default_str();
  watch->add_option("--since", options->since, "Count from this time on: a duration or a time.")
      ->type_name("TIME")
      ->capture_default_str();
  watch->add_option("--count", options->count, "Stop after this many readings; 0 never stops.")->capture_default_str();

  const auto [top, top_options] =
      add_command(app, "top", "List the subjects that are throttled most.", invocation, run_top);
  top->add_option("--since", top_options->since, "From this time on: a duration or a time.")
      ->type_name("TIME")
      ->capture_default_str();
  top->add_option("--policy", top_options->policy, "Only of this policy.")->type_name("ID");
  top->add_option("--limit", top_options->limit, "How many: 1 to 100.")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
}

}  // namespace sluice::ctl
