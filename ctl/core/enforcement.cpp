#include "ctl/core/enforcement.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/core.h>

namespace sluice::ctl {

using namespace std::chrono_literals;

Exit await_enforcement(Invocation& invocation, const std::string& revision, std::chrono::milliseconds up_to) {
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  const auto deadline = std::chrono::steady_clock::now() + up_to;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    // The server holds the call, but not longer than it waits for other calls; so it is asked again.
    const auto wait = std::clamp(left, 0ms, 5'000ms);
    const auto answer = (*api)->call(
        {.path = path_to({"revisions", revision}), .query = {{"wait", fmt::format("{}ms", wait.count())}}});
    if (!answer) return fail(answer.error());
    const json::Value state = answer->document.root();
    const bool enforced = state.is_true("enforced_by_all");
    if (!enforced && left > 0ms) continue;
    const json::Value agents = state.get("agents");
    fmt::print("revision {}: enforced by {} of {} agents\n", revision, cell(agents.get("enforcing")),
               cell(agents.get("total")));
    return enforced ? Exit::done : Exit::no;
  }
}

}  // namespace sluice::ctl
