// An engine behind a pipe, through the C interface:
//
//   library_driver CALLERS NAME=VALUE...     names of sluice_options_set()
//
// CALLERS threads take lines of the input, "check ID RESOURCE SUBJECT" or "async ID RESOURCE SUBJECT", and write for
// each "ID CODE ALLOWED REASON REMAINING MESSAGE" when it is decided. The first line is "opened", or "refused CODE
// MESSAGE". At the end of the input the engine is closed. After the line "exit" a static object closes it, when main()
// has returned; after the line "leave" nobody does, and its threads run until the process ends. Logs go to the error
// output.
#include <cstdio>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "sluice/sluice.h"

namespace {

// Closes the engine at its end.
struct Closing {
  ~Closing() { sluice_close(engine); }
  sluice_engine* engine = nullptr;
};
Closing at_exit;
sluice_engine* volatile left_open = nullptr;  // volatile, so that it is there for LeakSanitizer

std::mutex reading;
std::mutex writing;
std::string last_word;  // "exit", "leave", or "" at the end of the input. Guarded by `reading`.
bool ended = false;     // likewise

struct Asked {
  std::string id, resource, subject;
  sluice_request request{};
};

void answer(void* context, const sluice_decision* decision) {
  const Asked& asked = *static_cast<const Asked*>(context);
  const std::lock_guard lock(writing);
  std::printf("%s %s %d %s %lld %s\n", asked.id.c_str(), sluice_code_name(decision->code), decision->allowed ? 1 : 0,
              sluice_reason_name(decision->reason), static_cast<long long>(decision->remaining),
              decision->message.data == nullptr ? "" : decision->message.data);
  std::fflush(stdout);
}

void answer_and_free(void* context, const sluice_decision* decision) {
  answer(context, decision);
  delete static_cast<Asked*>(context);
}

bool take_line(std::string& line) {
  const std::lock_guard lock(reading);
  if (ended) return false;
  if (std::getline(std::cin, line) && line != "exit" && line != "leave") return true;
  ended = true;
  last_word = std::cin ? line : "";
  return false;
}

void serve(sluice_engine* engine) {
  sluice_decision decision;
  sluice_decision_init(&decision, sizeof decision);
  for (std::string line; take_line(line);) {
    auto* const asked = new Asked;
    std::string how;
    std::istringstream(line) >> how >> asked->id >> asked->resource >> asked->subject;
    sluice_request_init(&asked->request, sizeof asked->request);
    asked->request.resource = sluice_text_of(asked->resource.c_str());
    asked->request.subject = sluice_text_of(asked->subject.c_str());
    if (how == "async") {
      sluice_check_async(engine, &asked->request, answer_and_free, asked);
    } else {
      sluice_check(engine, &asked->request, &decision);
      answer_and_free(asked, &decision);
    }
  }
  sluice_decision_clear(&decision);
}

void log_line(void*, std::int32_t, sluice_text, sluice_text line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size), line.data);
}

}  // namespace

int main(int count, char** words) {
  sluice_options* const options = sluice_options_new();
  for (int i = 2; i < count; ++i) {
    const std::string option = words[i];
    const std::size_t at = option.find('=');
    sluice_options_set(options, option.substr(0, at).c_str(), option.substr(at + 1).c_str(), nullptr);
  }
  sluice_options_set_log(options, log_line, nullptr);
  sluice_error error;
  sluice_engine* const engine = sluice_open(options, &error);
  sluice_options_free(options);
  if (engine == nullptr) {
    std::printf("refused %s %s\n", sluice_code_name(error.code), error.message);
    return 1;
  }
  std::puts("opened");
  std::fflush(stdout);
  std::vector<std::thread> callers;
  for (int i = 0; i < std::stoi(words[1]); ++i) callers.emplace_back([engine] { serve(engine); });
  for (std::thread& caller : callers) caller.join();
  if (last_word == "exit") {
    at_exit.engine = engine;
  } else if (last_word == "leave") {
    left_open = engine;
  } else {
    sluice_close(engine);
  }
  return 0;
}
