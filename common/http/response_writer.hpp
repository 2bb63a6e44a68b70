// Writes a response in HTTP/1.1 wire form.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "common/http/message.hpp"

namespace sluice::http {

// What the request and the connection say about the shape of its reply.
struct ReplyShape {
  bool close = false;   // the connection ends after it
  bool head = false;    // HEAD: the length of the body, not the body
  bool http10 = false;  // the client must be told that the connection stays
};

// Appends status line, headers and body; a shared body only as its length: where it has to follow, the result is true.
// `date`: a whole Date line. A status that is not final (200 to 599) is a programmer's error and goes out as 500.
bool write_response(const Response& response, ReplyShape shape, std::string_view date, std::string& out);

// Appends status line and headers of a reply whose body comes in pieces: chunked, or, with http10, all until the
// connection closes. False: there is none to come, for it is HEAD or a status without a body.
bool write_stream_head(const Response& response, ReplyShape shape, std::string_view date, std::string& out);

// One piece of such a body, and its end. An empty piece is nothing (as a chunk it would be the end).
void write_piece(std::string_view piece, ReplyShape shape, std::string& out);
void write_last_piece(ReplyShape shape, std::string& out);

// The Date line of now, made once a second. Thread safety: none.
class DateLine {
 public:
  // "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"; valid until the next call.
  std::string_view at(std::time_t now);

 private:
  std::time_t made_for_ = -1;
  std::string text_;
};

}  // namespace sluice::http
