#include "common/limiter/function_library.hpp"

#include <array>
#include <utility>

#include <fmt/core.h>

#include "common/base/crypto.hpp"

namespace sluice::limiter {
namespace {

constexpr std::size_t kHashBytes = 8;

constexpr std::array kOfAgents{Script::check, Script::check_many, Script::release, Script::renew};

std::string_view word(Script script) {
  constexpr std::array<std::string_view, kScripts> kWords{"check", "check_many", "release",
                                                          "renew", "overrides",  "reset"};
  return kWords[static_cast<std::size_t>(script)];
}

// The functions have no flags: like the scripts, they are refused with READONLY, OOM or NOREPLICAS before they begin.
std::string text_of(std::string_view library) {
  std::string text = fmt::format("#!lua name={}\n", library);
  for (const Script script : kOfAgents) {
    std::string_view body = script_text(script);
    body.remove_prefix(body.find('\n') + 1);  // the line #!lua
    text += fmt::format("redis.register_function('{}_{}', function(KEYS, ARGV)\n{}end)\n", library, word(script), body);
  }
  return text;
}

}  // namespace

const FunctionLibrary& function_library() {
  static const FunctionLibrary kLibrary = [] {
    const Sha256Digest hash = sha256(text_of("sluice"));
    std::string name = "sluice_" + to_hex(ByteView(hash).first(kHashBytes));
    std::string text = text_of(name);
    return FunctionLibrary{std::move(name), std::move(text)};
  }();
  return kLibrary;
}

std::string_view function_name(Script script) {
  static const std::array<std::string, kScripts> kNames = [] {
    std::array<std::string, kScripts> names;
    for (std::size_t i = 0; i < kScripts; ++i) {
      names[i] = fmt::format("{}_{}", function_library().name, word(static_cast<Script>(i)));
    }
    return names;
  }();
  return kNames[static_cast<std::size_t>(script)];
}

}  // namespace sluice::limiter
