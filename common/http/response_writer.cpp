#include "common/http/response_writer.hpp"

#include <charconv>

#include <fmt/format.h>

#include "common/http/problem.hpp"

namespace sluice::http {
namespace {

void append_number(std::string& out, std::size_t number) {
  char digits[20];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  out.append(digits, end);
}

void append_status_line(std::string& out, unsigned status) {
  // The everyday answers in one piece.
  if (status == 200) {
    out += "HTTP/1.1 200 OK\r\n";
  } else if (status == 429) {
    out += "HTTP/1.1 429 Too Many Requests\r\n";
  } else {
    out += "HTTP/1.1 ";
    append_number(out, status);
    out += ' ';
    out += reason_phrase(status);
    out += "\r\n";
  }
}

}  // namespace

void write_response(const Response& response, ReplyShape shape, std::string_view date, std::string& out) {
  const unsigned status = response.status >= 200 && response.status <= 599 ? response.status : 500;
  const bool bodiless = status == 204 || status == 304;
  append_status_line(out, status);
  out += date;
  if (!bodiless) {
    if (!response.content_type.empty()) {
      out += "Content-Type: ";
      out += response.content_type;
      out += "\r\n";
    }
    out += "Content-Length: ";
    append_number(out, response.body.size());
    out += "\r\n";
  }
  if (shape.close) {
    out += "Connection: close\r\n";
  } else if (shape.http10) {
    out += "Connection: keep-alive\r\n";
  }
  out += response.headers;
  out += "\r\n";
  if (!bodiless && !shape.head) out += response.body;
}

std::string_view DateLine::at(std::time_t now) {
  if (now == made_for_) return text_;
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  text_ = fmt::format("Date: {}, {:02} {} {:04} {:02}:{:02}:{:02} GMT\r\n", kDays[utc.tm_wday], utc.tm_mday,
                      kMonths[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
  made_for_ = now;
  return text_;
}

}  // namespace sluice::http
