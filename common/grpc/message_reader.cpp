#include "common/grpc/message_reader.hpp"

#include <utility>

namespace sluice::grpc {

void MessageReader::push(std::string_view bytes) {
  if (at_ > 0 && at_ >= buffer_.size() / 2 && !has_message_) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  buffer_.append(bytes);
}

MessageReader::Step MessageReader::next() {
  at_ += taken();
  has_message_ = false;
  const std::size_t waiting = buffer_.size() - at_;
  if (waiting == 0) {
    buffer_.clear();
    at_ = 0;
  }
  if (waiting == 0 || waiting < kPrefix) return Step::need_more;
  const auto byte = [this](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(buffer_[at_ + i]));
  };
  if (byte(0) == 1) return Step::compressed;
  if (byte(0) > 1) return Step::malformed;
  const std::size_t size = byte(1) << 24 | byte(2) << 16 | byte(3) << 8 | byte(4);
  if (size > limit_) return Step::too_large;
  if (waiting - kPrefix < size) return Step::need_more;
  size_ = size;
  has_message_ = true;
  return Step::message;
}

void MessageReader::clear() {
  buffer_.clear();
  if (buffer_.capacity() > kKept) buffer_.shrink_to_fit();
  at_ = size_ = 0;
  has_message_ = false;
}

}  // namespace sluice::grpc
