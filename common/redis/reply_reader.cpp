#include "common/redis/reply_reader.hpp"

#include <hiredis/read.h>

#include <cstring>
#include <new>

namespace sluice::redis {
namespace {

// Returns nullptr at the arena's limit, which makes hiredis stop with an error.
Reply* place(const redisReadTask* task, Arena& arena) {
  if (task->parent == nullptr) return arena.make<Reply>(1);
  auto* parent = static_cast<Reply*>(task->parent->obj);
  // create_array() allocated these elements as mutable; Reply only shows them as const.
  return const_cast<Reply*>(parent->elements.data()) + task->idx;
}

Arena& arena_of(const redisReadTask* task) { return *static_cast<Arena*>(task->privdata); }

void* create_string(const redisReadTask* task, char* text, std::size_t size) {
  // hiredis does not check that CR LF follows a bulk string. The two bytes are in its buffer by now.
  if (task->type == REDIS_REPLY_STRING && std::memcmp(text + size, "\r\n", 2) != 0) return nullptr;
  Arena& arena = arena_of(task);
  const std::string_view copy = arena.copy({text, size});
  Reply* reply = copy.data() == nullptr ? nullptr : place(task, arena);
  if (reply == nullptr) return nullptr;
  reply->type = task->type == REDIS_REPLY_STRING   ? Reply::Type::string
                : task->type == REDIS_REPLY_STATUS ? Reply::Type::status
                                                   : Reply::Type::error;
  reply->text = copy;
  return reply;
}

void* create_array(const redisReadTask* task, int count) {
  Arena& arena = arena_of(task);
  const auto size = static_cast<std::size_t>(count);
  const Reply* elements = arena.make<Reply>(size);
  Reply* reply = elements == nullptr ? nullptr : place(task, arena);
  if (reply == nullptr) return nullptr;
  reply->type = Reply::Type::array;
  reply->elements = {elements, size};
  return reply;
}

void* create_integer(const redisReadTask* task, long long value) {
  Reply* reply = place(task, arena_of(task));
  if (reply == nullptr) return nullptr;
  reply->type = Reply::Type::integer;
  reply->integer = value;
  return reply;
}

void* create_nil(const redisReadTask* task) {
  return place(task, arena_of(task));  // a new Reply is nil
}

void free_object(void*) {}  // the arena frees all objects

redisReplyObjectFunctions functions{create_string, create_array, create_integer, create_nil, free_object};

redisReader* make_reader(Arena& arena) {
  redisReader* reader = redisReaderCreateWithFunctions(&functions);
  if (reader == nullptr) throw std::bad_alloc();
  reader->privdata = &arena;
  reader->maxbuf = 0;  // with 0, hiredis never frees an empty buffer; next() limits the size
  return reader;
}

}  // namespace

void ReplyReader::Free::operator()(redisReader* reader) const { redisReaderFree(reader); }

ReplyReader::ReplyReader(std::size_t max_reply_bytes)
    : max_reply_bytes_(max_reply_bytes), arena_(max_reply_bytes), reader_(make_reader(arena_)) {}

ReplyReader::~ReplyReader() = default;

void ReplyReader::feed(std::string_view bytes) {
  redisReaderFeed(reader_.get(), bytes.data(), bytes.size());  // next() reports a failure
}

Result<const Reply*> ReplyReader::next() {
  if (reader_->ridx < 0) arena_.rewind();  // between two replies
  void* reply = nullptr;
  if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
    const bool refused = reader_->err == REDIS_ERR_OOM;
    return failure("protocol", refused ? "the reply is malformed or above the size limit" : reader_->errstr);
  }
  if (reply == nullptr && reader_->len - reader_->pos > max_reply_bytes_) {
    return failure("protocol", "the reply is above the size limit");
  }
  return static_cast<const Reply*>(reply);
}

void ReplyReader::reset() { reader_.reset(make_reader(arena_)); }

}  // namespace sluice::redis
