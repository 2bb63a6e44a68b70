#include "common/http/response_writer.hpp"

#include <charconv>

#include <fmt/core.h>

#include "common/http/problem.hpp"

namespace sluice::http {
namespace {

void append_number(std::string& out, std::size_t number) {
  char digits[20];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  out.append(digits, end);
}

void append_status_line(std::string& out, unsigned status) {
  // A fast path for the most frequent statuses.
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

unsigned final_status(const Response& response) {
  return response.status >= 200 && response.status <= 599 ? response.status : 500;
}

bool is_bodiless(unsigned status) { return status == 204 || status == 304; }

void begin_head(const Response& response, unsigned status, std::string_view date, std::string& out) {
  append_status_line(out, status);
  out += date;
  if (is_bodiless(status) || response.content_type.empty()) return;
  out += "Content-Type: ";
  out += response.content_type;
  out += "\r\n";
}

void end_head(const Response& response, ReplyShape shape, std::string& out) {
  if (shape.close) {
    out += "Connection: close\r\n";
  } else if (shape.http10) {
    out += "Connection: keep-alive\r\n";
  }
  if (!response.request_id.empty()) {
    out += "X-Request-Id: ";
    out += response.request_id;
    out += "\r\n";
  }
  out += response.headers;
  out += "\r\n";
}

}  // namespace

bool write_response(const Response& response, ReplyShape shape, std::string_view date, std::string& out) {
  const unsigned status = final_status(response);
  begin_head(response, status, date, out);
  if (!is_bodiless(status)) {
    out += "Content-Length: ";
    append_number(out, response.content().size());
    out += "\r\n";
  }
  end_head(response, shape, out);
  if (is_bodiless(status) || shape.head) return false;
  if (response.shared_body) return true;
  out += response.body;
  return false;
}

bool write_stream_head(const Response& response, ReplyShape shape, std::string_view date, std::string& out) {
  const unsigned status = final_status(response);
  begin_head(response, status, date, out);
  if (!is_bodiless(status) && !shape.http10) out += "Transfer-Encoding: chunked\r\n";
  end_head(response, shape, out);
  return !is_bodiless(status) && !shape.head;
}

void write_piece(std::string_view piece, ReplyShape shape, std::string& out) {
  if (piece.empty()) return;
  if (!shape.http10) {
    char digits[16];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, piece.size(), 16);
    out.append(digits, end);
    out += "\r\n";
  }
  out += piece;
  if (!shape.http10) out += "\r\n";
}

void write_last_piece(ReplyShape shape, std::string& out) {
  if (!shape.http10) out += "0\r\n\r\n";
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
