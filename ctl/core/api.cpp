#include "ctl/core/api.hpp"

#include <fmt/core.h>
#include <boost/asio/io_context.hpp>

#include "common/base/percent_encoding.hpp"
#include "common/base/text.hpp"
#include "common/base/version.hpp"
#include "common/http_client/client.hpp"
#include "common/json/writer.hpp"

namespace sluice::ctl {
namespace {

constexpr std::size_t kMaxBody = 256UL << 20;
constexpr std::string_view kSeeErrors = "see errors.";
constexpr unsigned kUnauthorized = 401;

std::string target_of(const Call& call) {
  std::string target = call.path;
  char separator = call.path.find('?') == std::string::npos ? '?' : '&';
  for (const auto& [name, value] : call.query) {
    if (value.empty()) continue;
    target.append(1, separator).append(percent_encode(name)).append("=").append(percent_encode(value));
    separator = '&';
  }
  return target;
}

bool is_number(std::string_view text) {
  const auto parsed = Document::parse(text);
  return parsed && parsed->root().type() == json::Type::number;
}

// The server's own text speaks of the header, which nobody writes here.
std::string describe_unauthorized(std::string_view code) {
  std::string_view what = "the token is not known to the server, or was revoked";
  if (code == "missing" || code == "malformed")
    what = "the token is cut or mistyped: an admin token is sla_<id>_<secret>";
  if (code == "wrong_kind") what = "the token is no admin token: those begin with sla_";
  if (code == "expired") what = "the token has expired";
  return fmt::format("{}. `sluicectl login` stores another one.", what);
}

// The pointer, if it leads into the body: a query parameter is named in the text.
std::string describe_fault(const json::Value& fault) {
  const std::string_view pointer = fault.text_of("pointer");
  if (!pointer.starts_with('/')) return std::string(fault.text_of("detail"));
  return fmt::format("{}: {}", pointer, fault.text_of("detail"));
}

}  // namespace

struct Api::Impl {
  explicit Impl(const Endpoint& endpoint)
      : client(context, {.server = endpoint.url,
                         .tls = {.ca = endpoint.ca},
                         .head_timeout = endpoint.timeout,
                         .user_agent = fmt::format("sluicectl/{}", version())}) {}

  boost::asio::io_context context;
  http_client::Client client;
};

Api::Api(Endpoint endpoint) : endpoint_(std::move(endpoint)), impl_(std::make_unique<Impl>(endpoint_)) {}
Api::~Api() = default;

Result<Answer> Api::send(const Call& call) {
  Result<http_client::Response> outcome = failure("connection", "no answer");
  impl_->context.restart();
  impl_->client.send({.method = call.method,
                      .target = target_of(call),
                      .bearer = endpoint_.token,
                      .fields = call.fields,
                      .content_type = call.content_type,
                      .body = call.body,
                      .max_body = kMaxBody},
                     [&](Result<http_client::Response> response) {
                       outcome = std::move(response);
                       impl_->context.stop();  // else the kept connection would be read for ever
                     });
  impl_->context.run();
  if (!outcome) {
    return failure("connection", fmt::format("no answer: {}", outcome.error().text));
  }
  Answer answer{.status = outcome->status, .text = {}, .etag = std::string(outcome->header("etag")), .document = {}};
  answer.text = std::move(outcome->body);
  if (auto document = Document::parse(answer.text)) answer.document = std::move(*document);
  return answer;
}

Result<Answer> Api::call(const Call& call) {
  auto answer = send(call);
  if (!answer || answer->ok()) return answer;
  return std::unexpected(error_of(*answer));
}

Result<> Api::list(const Call& call, const std::function<bool(const json::Value&)>& visit) {
  Call page = call;
  while (true) {
    const auto answer = this->call(page);
    if (!answer) return std::unexpected(answer.error());
    for (const json::Value& item : answer->document.root().items_of("items")) {
      if (!visit(item)) return {};
    }
    const std::string_view next = answer->document.root().text_of("next");
    if (next.empty()) return {};
    page.query = call.query;
    page.query.emplace_back("cursor", next);
  }
}

std::string path_to(std::initializer_list<std::string_view> parts) {
  std::string path = "/v1/admin";
  for (const std::string_view part : parts) path.append("/").append(percent_encode(part));
  return path;
}

Error error_of(const Answer& answer) {
  const std::string_view code = answer.document.root().text_of("code");
  return {std::string(code.empty() ? "problem" : code),
          answer.status == kUnauthorized ? describe_unauthorized(code) : describe_problem(answer)};
}

std::string describe_problem(const Answer& answer, bool with_faults) {
  const json::Value problem = answer.document.root();
  const std::string_view detail = problem.text_of("detail");
  const std::string_view title = problem.text_of("title");
  if (detail.empty() && title.empty()) return fmt::format("the answer is HTTP {}, without a reason", answer.status);
  std::string text(detail.empty() ? title : detail);
  const auto faults = problem.items_of("errors");
  if (!with_faults || faults.empty()) return text;
  if (faults.size() == 1) {
    // It says all that the detail says ("One field breaks a rule; see errors.").
    return text.ends_with(kSeeErrors) ? describe_fault(faults.front()) : text + " " + describe_fault(faults.front());
  }
  for (const json::Value& fault : faults) text.append("\n  ").append(describe_fault(fault));
  return text;
}

Result<std::string> object_of_pairs(const std::vector<std::string>& pairs, bool numbers) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return failure("pair", fmt::format("{} must be NAME=VALUE, such as subject=user:42", sluice::quoted(pair)));
    }
    const std::string value = pair.substr(equals + 1);
    out.key(pair.substr(0, equals));
    if (numbers && is_number(value)) {
      out.raw(value);
    } else {
      out.text(value);
    }
  }
  out.end_object();
  return out.take();
}

}  // namespace sluice::ctl
