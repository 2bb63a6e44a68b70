#include "counts.hpp"

#include <string_view>
#include <utility>

namespace otlp_pipe {

std::string prometheus_text(const Counts& counts) {
  const auto signals = counts.signals();
  std::string text =
      "# HELP otlp_pipe_records_total Records by what became of them. received = the others, without sampled and "
      "undecided, which are among the forwarded ones, and with otlp_pipe_waiting_records.\n"
      "# TYPE otlp_pipe_records_total counter\n";
  const auto line = [&text](std::string_view name, std::string_view labels, std::uint64_t value) {
    text.append(name).append(labels).append(" ").append(std::to_string(value)).append("\n");
  };
  for (const Signal signal : {Signal::logs, Signal::traces, Signal::metrics}) {
    const SignalCounts& each = signals[static_cast<std::size_t>(signal)];
    const std::pair<std::string_view, std::uint64_t> outcomes[] = {
        {"received", each.received},   {"dropped", each.dropped},     {"sampled", each.sampled},
        {"undecided", each.undecided}, {"forwarded", each.forwarded}, {"refused", each.refused},
        {"given_up", each.given_up}};
    for (const auto& [outcome, value] : outcomes) {
      line("otlp_pipe_records_total",
           "{signal=\"" + std::string(to_string(signal)) + "\",outcome=\"" + std::string(outcome) + "\"}", value);
    }
  }
  text +=
      "# HELP otlp_pipe_waiting_records Records on their way to the collector.\n# TYPE otlp_pipe_waiting_records "
      "gauge\n";
  for (const Signal signal : {Signal::logs, Signal::traces, Signal::metrics}) {
    line("otlp_pipe_waiting_records", "{signal=\"" + std::string(to_string(signal)) + "\"}",
         signals[static_cast<std::size_t>(signal)].waiting);
  }
  text +=
      "# HELP otlp_pipe_turned_away_requests_total Requests answered 503, because too much waits.\n"
      "# TYPE otlp_pipe_turned_away_requests_total counter\n";
  line("otlp_pipe_turned_away_requests_total", "", counts.turned_away);
  text +=
      "# HELP otlp_pipe_retries_total Requests to the collector that were repeated.\n"
      "# TYPE otlp_pipe_retries_total counter\n";
  line("otlp_pipe_retries_total", "", counts.retries);
  return text;
}

}  // namespace otlp_pipe
