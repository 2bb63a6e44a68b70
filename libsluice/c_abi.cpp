// The functions of sluice.h. Each hands its work on to the C++ interface; nothing is thrown through them.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "libsluice/c_convert.hpp"
#include "libsluice/c_options.hpp"
#include "libsluice/decision_of.hpp"

struct sluice_engine {
  std::unique_ptr<sluice::v1::Engine> engine;
  bool metrics = false;  // the option
};

namespace sluice::lib {
namespace {

using v1::Code;

constexpr std::array kCodeNames{
    "ok",           "invalid_options",   "invalid_policies", "unreachable",   "unauthenticated", "unknown_tenant",
    "unknown_plan", "missing_dimension", "invalid_request",  "unknown_lease", "out_of_memory",   "stopped"};
static_assert(kCodeNames.size() == SLUICE_STOPPED + 1);
constexpr const char* kUnknown = "unknown";

// The number of bytes of `text` that fit into `most`, without half a character at the end.
std::size_t fitting(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text.size();
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return most;
}

std::int32_t report(Code code, std::string_view message, sluice_error* error) noexcept {
  if (error != nullptr) {
    error->code = static_cast<std::int32_t>(code);
    const std::size_t size = fitting(message, sizeof error->message - 1);
    std::memcpy(error->message, message.data(), size);
    error->message[size] = '\0';
  }
  return static_cast<std::int32_t>(code);
}

template <class Do>
std::int32_t reported(sluice_error* error, Do run) noexcept {
  try {
    const v1::Status status = run();
    return report(status.code, status.message, error);
  } catch (const std::bad_alloc&) {
    return report(Code::out_of_memory, "There is no memory left.", error);
  }
}

// Makes a caller's decision one that was not decided, if there is no memory for the texts of one.
std::int32_t not_decided(Code code, sluice_decision& decision) noexcept {
  static const v1::Decision empty{};
  show(empty, decision);
  decision.code = static_cast<std::int32_t>(code);
  constexpr std::string_view kNoMemory = "There is no memory left.";
  decision.message = text_of(code == Code::out_of_memory ? kNoMemory : "");
  return decision.code;
}

// Runs `check(engine's request, decision)` and shows its decision.
template <class Check>
std::int32_t checked(const sluice_request& request, sluice_decision& decision, Check check) noexcept {
  if (!can_hold_decision(decision)) return SLUICE_INVALID_REQUEST;
  try {
    if (decision.memory == nullptr) decision.memory = new v1::Decision;
    v1::Decision& memory = *memory_of(decision);
    v1::Status status;
    const RequestFromC converted(request, status);
    if (status.ok()) [[likely]] {
      check(converted.request(), memory);
    } else {
      memory = {};
      memory.status = std::move(status);
    }
    show(memory, decision);
    return decision.code;
  } catch (const std::bad_alloc&) {
    return not_decided(Code::out_of_memory, decision);
  }
}

// Element `at` of a caller's array, whose elements may be smaller or larger than ours.
template <class T>
T& element(T* array, std::size_t at) {
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  return *reinterpret_cast<T*>(reinterpret_cast<Byte*>(array) + at * array->struct_size);
}

// Takes the decisions out of the callers' memories for as long as the engine wants them side by side.
std::int32_t check_all(v1::Engine& engine, const sluice_request* requests, sluice_decision* decisions,
                       std::size_t count) {
  std::vector<std::unique_ptr<RequestFromC>> converted(count);
  std::vector<v1::Request> asked;
  std::vector<v1::Decision> decided(count);
  std::vector<std::size_t> places;  // of `asked` in `decisions`
  asked.reserve(count);
  places.reserve(count);
  std::vector<v1::Status> unreadable(count);
  for (std::size_t i = 0; i < count; ++i) {
    sluice_decision& decision = element(decisions, i);
    if (decision.memory == nullptr) decision.memory = new v1::Decision;
    converted[i] = std::make_unique<RequestFromC>(element(requests, i), unreadable[i]);
    if (!unreadable[i].ok()) continue;
    decided[asked.size()] = std::move(*memory_of(decision));
    asked.push_back(converted[i]->request());
    places.push_back(i);
  }
  engine.check_batch(asked, std::span(decided).first(asked.size()));
  for (std::size_t i = 0; i < places.size(); ++i) *memory_of(element(decisions, places[i])) = std::move(decided[i]);
  std::int32_t first = SLUICE_OK;
  for (std::size_t i = 0; i < count; ++i) {
    sluice_decision& decision = element(decisions, i);
    if (!unreadable[i].ok()) {
      *memory_of(decision) = {};
      memory_of(decision)->status = std::move(unreadable[i]);
    }
    show(*memory_of(decision), decision);
    if (first == SLUICE_OK) first = decision.code;
  }
  return first;
}

// A decision for a callback: its texts are the engine's, and it has no memory of its own.
sluice_decision shown(const v1::Decision& decision) noexcept {
  sluice_decision result;
  sluice_decision_init(&result, sizeof result);
  show(decision, result);
  return result;
}

}  // namespace
}  // namespace sluice::lib

extern "C" {

const char* sluice_code_name(int32_t code) {
  return code < 0 || code > SLUICE_STOPPED ? sluice::lib::kUnknown
                                           : sluice::lib::kCodeNames[static_cast<std::size_t>(code)];
}
// The names are literals, so a zero byte follows each.
const char* sluice_action_name(int32_t action) {
  return action < 0 || action > SLUICE_SHADOW_ONLY
             ? sluice::lib::kUnknown
             : sluice::v1::to_string(static_cast<sluice::v1::Action>(action)).data();
}
const char* sluice_reason_name(int32_t reason) {
  return reason < 0 || reason > SLUICE_OVERLOAD ? sluice::lib::kUnknown
                                                : sluice::v1::to_string(static_cast<sluice::v1::Reason>(reason)).data();
}
const char* sluice_version(void) { return sluice::v1::version().data(); }

void sluice_request_init(sluice_request* request, size_t struct_size) {
  std::memset(request, 0, struct_size);
  request->struct_size = struct_size;
  request->cost = 1;
}

void sluice_decision_init(sluice_decision* decision, size_t struct_size) {
  std::memset(decision, 0, struct_size);
  decision->struct_size = struct_size;
}

void sluice_decision_clear(sluice_decision* decision) {
  if (decision == nullptr) return;
  delete sluice::lib::memory_of(*decision);
  sluice_decision_init(decision, decision->struct_size);
}

sluice_options* sluice_options_new(void) { return new (std::nothrow) sluice_options; }
void sluice_options_free(sluice_options* options) { delete options; }

int32_t sluice_options_set(sluice_options* options, const char* name, const char* value, sluice_error* error) {
  return sluice::lib::reported(error, [&] {
    sluice::v1::Status status;
    try {
      status =
          value != nullptr ? sluice::lib::set_option(options->options, name, value) : sluice::lib::missing_value(name);
      if (options->fault.ok()) options->fault = status;
    } catch (const std::bad_alloc&) {
      status = sluice::lib::out_of_memory();
      if (options->fault.ok()) options->fault = sluice::lib::out_of_memory();  // needs no memory itself
    }
    return status;
  });
}

void sluice_options_set_log(sluice_options* options, sluice_log_hook hook, void* context) {
  options->options.log = nullptr;
  if (hook == nullptr) return;
  options->options.log = [hook, context](sluice::v1::Level level, std::string_view event, std::string_view line) {
    hook(context, static_cast<int32_t>(level), sluice::lib::text_of(event), sluice::lib::text_of(line));
  };
}

void sluice_options_set_on_decision(sluice_options* options, sluice_decision_hook hook, void* context) {
  options->options.on_decision = nullptr;
  if (hook == nullptr) return;
  options->options.on_decision = [hook, context](const sluice::v1::Request& request,
                                                 const sluice::v1::Decision& decision) {
    const sluice::lib::RequestToC asked(request);
    const sluice_decision result = sluice::lib::shown(decision);
    hook(context, &asked.request(), &result);
  };
}

void sluice_options_set_clock(sluice_options* options, sluice_clock clock, void* context) {
  options->options.clock_us = nullptr;
  if (clock == nullptr) return;
  options->options.clock_us = [clock, context] { return clock(context); };
}

sluice_engine* sluice_open(const sluice_options* options, sluice_error* error) {
  sluice_engine* result = nullptr;
  sluice::lib::reported(error, [&]() -> sluice::v1::Status {
    if (!options->fault.ok()) return options->fault;
    auto engine = std::make_unique<sluice_engine>();
    auto opened = sluice::v1::Engine::open(options->options);
    if (!opened) return opened.status;
    engine->engine = std::move(opened.engine);
    engine->metrics = options->options.metrics;
    result = engine.release();
    return {};
  });
  return result;
}

void sluice_close(sluice_engine* engine) { delete engine; }

int32_t sluice_check(sluice_engine* engine, const sluice_request* request, sluice_decision* decision) {
  return sluice::lib::checked(*request, *decision, [&](const sluice::v1::Request& asked, sluice::v1::Decision& memory) {
    engine->engine->check(asked, memory);
  });
}

int32_t sluice_wait(sluice_engine* engine, const sluice_request* request, int64_t at_most_us,
                    sluice_decision* decision) {
  return sluice::lib::checked(*request, *decision, [&](const sluice::v1::Request& asked, sluice::v1::Decision& memory) {
    engine->engine->wait(asked, sluice::v1::Micros(at_most_us), memory);
  });
}

int32_t sluice_check_batch(sluice_engine* engine, const sluice_request* requests, sluice_decision* decisions,
                           size_t count) {
  if (count == 0) return SLUICE_OK;
  if (!sluice::lib::can_hold_decision(*decisions)) return SLUICE_INVALID_REQUEST;
  try {
    return sluice::lib::check_all(*engine->engine, requests, decisions, count);
  } catch (const std::bad_alloc&) {
    for (size_t i = 0; i < count; ++i)
      sluice::lib::not_decided(sluice::v1::Code::out_of_memory, sluice::lib::element(decisions, i));
    return SLUICE_OUT_OF_MEMORY;
  }
}

void sluice_check_async(sluice_engine* engine, const sluice_request* request, sluice_callback callback, void* context) {
  const auto answer = [callback, context](const sluice::v1::Decision& decision) noexcept {
    const sluice_decision result = sluice::lib::shown(decision);
    callback(context, &result);
  };
  try {
    sluice::v1::Status status;
    const auto asked = std::make_shared<const sluice::lib::RequestFromC>(*request, status);
    if (status.ok()) {
      engine->engine->check_async(asked->request(),
                                  [asked, answer](const sluice::v1::Decision& decision) { answer(decision); });
      return;
    }
    sluice::v1::Decision decision;
    decision.status = std::move(status);
    answer(decision);
  } catch (const std::bad_alloc&) {
    sluice_decision decision;
    sluice_decision_init(&decision, sizeof decision);
    sluice::lib::not_decided(sluice::v1::Code::out_of_memory, decision);
    callback(context, &decision);
  }
}

int32_t sluice_release(sluice_engine* engine, sluice_text tenant, sluice_text lease_id, sluice_error* error) {
  return sluice::lib::reported(
      error, [&] { return engine->engine->release(sluice::lib::view_of(tenant), sluice::lib::view_of(lease_id)); });
}

int32_t sluice_renew(sluice_engine* engine, sluice_text tenant, sluice_text lease_id, int64_t* expires_us,
                     sluice_error* error) {
  return sluice::lib::reported(error, [&] {
    return engine->engine->renew(sluice::lib::view_of(tenant), sluice::lib::view_of(lease_id), expires_us);
  });
}

int32_t sluice_load(sluice_engine* engine, sluice_text bundle, sluice_error* error) {
  return sluice::lib::reported(error, [&] { return engine->engine->load(sluice::lib::view_of(bundle)); });
}

int32_t sluice_reload(sluice_engine* engine, sluice_error* error) {
  return sluice::lib::reported(error, [&] { return engine->engine->reload(); });
}

bool sluice_has_policies(const sluice_engine* engine) { return engine->engine->has_policies(); }
uint64_t sluice_revision(const sluice_engine* engine) { return engine->engine->revision(); }

void sluice_run(sluice_engine* engine) { engine->engine->run(); }
size_t sluice_poll(sluice_engine* engine) { return engine->engine->poll(); }
void sluice_stop(sluice_engine* engine) { engine->engine->stop(); }

char* sluice_metrics(const sluice_engine* engine) {
  const std::string text = engine->engine->metrics();
  if (engine->metrics && text.empty()) return nullptr;  // there was no memory for it
  char* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}
void sluice_free(char* text) { std::free(text); }

}  // extern "C"
