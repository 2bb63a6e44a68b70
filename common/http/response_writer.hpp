// Writes a response in HTTP/1.1 wire form.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "common/http/message.hpp"

namespace sluice::http {

struct ReplyShape {
  bool close = false;  // the connection closes after the reply
  bool head = false;   // the method is HEAD, so the reply has a length but no body
  bool http10 = false;
};

// Appends the response except a shared body. Returns whether the caller must send the shared body next. `date` is a
// whole Date line. A status outside 200 to 599 is a bug and sent as 500.
bool write_response(const Response& response, ReplyShape shape, std::string_view date, std::string& out);

// A streamed body is chunked; with http10 it ends when the connection closes. Returns whether a body follows.
bool write_stream_head(const Response& response, ReplyShape shape, std::string_view date, std::string& out);

// An empty piece writes nothing, because an empty chunk would end the body.
void write_piece(std::string_view piece, ReplyShape shape, std::string& out);
void write_last_piece(ReplyShape shape, std::string& out);

// The current Date line, formatted at most once a second.
class DateLine {
 public:
  // "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"; valid until the next call.
  std::string_view at(std::time_t now);

 private:
  std::time_t made_for_ = -1;
  std::string text_;
};

}  // namespace sluice::http
