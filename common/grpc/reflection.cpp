#include "common/grpc/reflection.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace sluice::grpc {
namespace {

using protozero::pbf_writer;

constexpr auto kReflectionMethods = std::to_array<Method>(
    {{.name = "ServerReflectionInfo", .max_message = 4096, .client_streams = true, .server_streams = true}});

// Bytes of answers that wait for a client that does not read, before its further questions wait too.
constexpr std::size_t kMaxWaiting = 256UL << 10;

struct Question {
  std::uint32_t kind = 0;  // a field number of ServerReflectionRequest
  std::string_view text;
};

// Throws protozero::exception.
Question read_question(std::string_view request) {
  Question question;
  protozero::pbf_reader reader(request.data(), request.size());
  while (reader.next()) {
    const std::uint32_t tag = reader.tag();
    if (reader.wire_type() != protozero::pbf_wire_type::length_delimited || tag < 3 || tag > 7) {
      reader.skip();
      continue;
    }
    const auto view = reader.get_view();
    question = {tag, {view.data(), view.size()}};
  }
  return question;
}

void add_files(pbf_writer& out, const std::vector<std::string_view>& files) {
  if (!files.empty()) {
    pbf_writer response(out, 4);
    for (const std::string_view file : files) response.add_bytes(1, file.data(), file.size());
    return;
  }
  pbf_writer error(out, 7);
  error.add_int32(1, static_cast<std::int32_t>(Code::not_found));
  error.add_string(2, "There is no such file or symbol.");
}

}  // namespace

// One call. Owns itself until the call is over.
class ReflectionService::Conversation final : public CallListener {
 public:
  Conversation(const ReflectionService& service, Reply reply) : service_(service), reply_(std::move(reply)) {}

  bool listen() { return reply_.listen(*this); }

  void on_message(std::span<char> message) override {
    const std::string answer = service_.answer({message.data(), message.size()});
    if (answer.empty()) {
      return end({Code::invalid_argument, "The message is no ServerReflectionRequest."});
    }
    reply_.send(answer);
    if (reply_.waiting_bytes() > kMaxWaiting) reply_.pause();
  }
  void on_writable() override { reply_.go_on(); }
  void on_half_close() override { end({}); }
  void on_drain() override { end({Code::unavailable, "The server stops."}); }
  void on_over() override { delete this; }

 private:
  void end(const Status& status) {
    reply_.finish(status);
    delete this;
  }

  const ReflectionService& service_;
  Reply reply_;
};

std::span<const Method> ReflectionService::method_table() { return kReflectionMethods; }

void ReflectionService::open(std::size_t, Reply reply) {
  auto made = std::make_unique<Conversation>(*this, std::move(reply));
  if (made->listen()) static_cast<void>(made.release());
}

std::string ReflectionService::answer(std::string_view request) const {
  Question question;
  try {
    question = read_question(request);
  } catch (const protozero::exception&) {
    return {};
  }
  std::string message;
  pbf_writer out(message);
  out.add_message(2, request.data(), request.size());
  switch (question.kind) {
    case 3:
      add_files(out, descriptors_.by_file(question.text));
      break;
    case 4:
      add_files(out, descriptors_.by_symbol(question.text));
      break;
    case 7: {
      pbf_writer list(out, 6);
      for (const std::string_view service : services_) {
        pbf_writer entry(list, 1);
        entry.add_string(1, service.data(), service.size());
      }
      break;
    }
    default: {  // extensions, which our messages do not have
      pbf_writer error(out, 7);
      error.add_int32(1, static_cast<std::int32_t>(question.kind == 0 ? Code::invalid_argument : Code::not_found));
      error.add_string(2, question.kind == 0 ? "The request asks for nothing." : "There are no extensions.");
    }
  }
  return message;
}

}  // namespace sluice::grpc
