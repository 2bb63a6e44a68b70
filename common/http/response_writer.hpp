// Writes a response in HTTP/1.1 wire form.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "common/http/message.hpp"

namespace sluice::http {

// Properties of the request and the connection that decide the form of the reply.
struct ReplyShape {
  bool close = false;   // the connection closes after the reply
  bool head = false;    // HEAD: send the length of the body, but no body
  bool http10 = false;  // HTTP/1.0: a connection that stays open needs `Connection: keep-alive`
};

// Appends status line, headers and body, but not a shared body. Returns true if the caller must send the shared body
// next. `date`: a whole Date line. A status outside 200 to 599 is a bug and sent as 500.
bool write_response(const Response& response, ReplyShape shape, std::string_view date, std::string& out);

// Appends status line and headers of a reply with a streamed body. The body is chunked; with http10 it ends when the
// connection closes. False: no body follows, because the method is HEAD or the status allows no body.
bool write_stream_head(const Response& response, ReplyShape shape, std::string_view date, std::string& out);

// Append a piece of a streamed body, or the end of the body. An empty piece writes nothing: an empty chunk would end
// the body.
void write_piece(std::string_view piece, ReplyShape shape, std::string& out);
void write_last_piece(ReplyShape shape, std::string& out);

// The current Date line, formatted at most once a second. Thread safety: none.
class DateLine {
 public:
  // "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"; valid until the next call.
  std::string_view at(std::time_t now);

 private:
  std::time_t made_for_ = -1;
  std::string text_;
};

}  // namespace sluice::http
