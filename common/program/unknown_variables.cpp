#include "common/program/unknown_variables.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "common/base/text.hpp"

namespace sluice::program {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kPrograms{"SLUICE_AGENT_"sv, "SLUICE_SERVER_"sv};
// The first seven are for applications (sdk/CONTRACT.md); the others are of scripts/ and tests/.
constexpr std::array kOfOthers{
    "SLUICE_API_KEY"sv,      "SLUICE_API_KEY_FILE"sv, "SLUICE_TIMEOUT"sv,   "SLUICE_ON_ERROR"sv,     "SLUICE_URL"sv,
    "SLUICE_SOCKET"sv,       "SLUICE_KEY"sv,          "SLUICE_RUN_DIR"sv,   "SLUICE_VALKEY"sv,       "SLUICE_ALONE"sv,
    "SLUICE_AGENT_BIN"sv,    "SLUICE_SERVER_BIN"sv,   "SLUICE_AGENT_OLD"sv, "SLUICE_AGENT_URL"sv,    "SLUICE_IMAGES"sv,
    "SLUICE_DRIVEN_CLOCK"sv, "SLUICE_SERVER_URL"sv,   "SLUICE_SECRETS"sv,   "SLUICE_KUBE_REQUIRED"sv};

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_protocol(std::string_view text) { return text == "TCP" || text == "UDP" || text == "SCTP"; }

// X_PORT_8443_TCP, and the same with _PROTO, _PORT or _ADDR.
bool is_port_of_service(std::string_view name) {
  const std::size_t at = name.find("_PORT_");
  if (at == std::string_view::npos) return false;
  std::string_view rest = name.substr(at + 6);
  const std::size_t end = std::min(rest.find('_'), rest.size());
  if (!is_number(rest.substr(0, end))) return false;
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return is_protocol(rest.substr(0, rest.find('_')));
}

// Whether Kubernetes sets such a variable in every container beside a Service.
bool is_of_service(std::string_view name, std::string_view value) {
  return name.ends_with("_SERVICE_HOST") || name.ends_with("_SERVICE_PORT") ||
         name.find("_SERVICE_PORT_") != std::string_view::npos || is_port_of_service(name) ||
         (name.ends_with("_PORT") && value.find("://") != std::string_view::npos);
}

bool is_of_others(std::string_view name, std::string_view prefix) {
  if (name.ends_with("_VERSION") || name.ends_with("_HELP")) return true;  // see has_variable()
  if (std::ranges::find(kOfOthers, name) != kOfOthers.end()) return true;
  return std::ranges::any_of(kPrograms,
                             [&](std::string_view program) { return program != prefix && name.starts_with(program); });
}

std::vector<std::string> variables_of(const Program& program) {
  std::vector<std::string> names;
  for (const Command& command : program.commands) {
    for (const FlagSpec& spec : command.flags) {
      if (has_variable(spec)) names.push_back(variable_of(program, command, spec));
    }
  }
  return names;
}

}  // namespace

Faults unknown_variables(const Program& program, const Environment& environment) {
  const std::string_view prefix = program.environment_prefix;
  const std::string_view family = prefix.substr(0, prefix.find('_') + 1);
  const std::vector<std::string> names = variables_of(program);
  const std::vector<std::string_view> known(names.begin(), names.end());
  Faults found;
  environment.for_each([&](std::string_view name, std::string_view value) {
    if (!name.starts_with(family) || value.empty() || std::ranges::find(known, name) != known.end()) return;
    if (is_of_service(name, value) || is_of_others(name, prefix)) return;
    // Without the program's name in it, the variable of a flag is misspelt too: SLUICE_LISTEN.
    const std::string full =
        name.starts_with(prefix) ? std::string(name) : fmt::format("{}{}", prefix, name.substr(family.size()));
    const std::string_view hint = nearest(full, known);
    found.push_back(
        {std::string(name), fmt::format("The environment variable {} is not a flag's, and has no effect{}", name,
                                        hint.empty() ? fmt::format("; {} --help lists the flags.", program.name)
                                                     : fmt::format(": did you mean {}?", hint))});
  });
  return found;
}

}  // namespace sluice::program
