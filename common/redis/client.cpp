// Chooses the node for each command, and keeps the list of nodes. Without a Cluster there is one node. In a Cluster the
// slot map names the node of each slot. Commands for a slot without a node go to any node, which may redirect them.
//
// At first, the list has the nodes in the URL. Every primary of a slot map is added, and so is a node that MOVED or ASK
// names. A node without slots is removed when it has been idle for kKeepIdle.
#include "common/redis/client.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/wait_traits.hpp>

#include "common/redis/credential_watch.hpp"
#include "common/redis/handshake.hpp"
#include "common/redis/node.hpp"
#include "common/redis/topology.hpp"

namespace sluice::redis {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, asio::io_context::executor_type>;

namespace {

constexpr std::chrono::seconds kKeepIdle{10};

// The time limit for the reply with a slot map.
constexpr std::chrono::milliseconds kMapWithin{500};

}  // namespace

class Client::Impl final : public std::enable_shared_from_this<Client::Impl> {
 public:
  Impl(asio::io_context& context, Options options, Observer observer);

  void start();
  void stop();
  void destroy();
  void rotate();
  void look_for_nodes() {
    if (started_ && in_cluster()) doubt();
  }

  Node& route(std::string_view key);
  std::optional<std::size_t> node_of(std::string_view key) const;
  bool in_cluster() const { return !options_.target.cluster.empty(); }
  std::size_t nodes() const { return in_cluster() ? topology_.map().primaries().size() : 1; }
  std::uint64_t slots_hash(std::size_t node) const { return in_cluster() ? topology_.map().hash_of(node) : 0; }
  const std::string& endpoint(std::size_t node) const {
    return in_cluster() ? primaries_[node]->endpoint : members_[0]->endpoint;
  }
  std::size_t connected() const;

  Breaker::State breaker() const;
  std::size_t unfinished() const { return total(&Node::unfinished); }
  std::size_t waiting() const { return total(&Node::waiting); }
  std::size_t window() const { return total(&Node::window); }
  bool busy(TimePoint now) const;
  std::uint64_t writes() const { return former_writes_ + total(&Node::writes); }
  std::uint64_t redirects() const { return redirects_; }

 private:
  class SlotsQuestion;
  struct Member {
    HostPort address;      // in a Cluster
    std::string endpoint;  // the URL without a password
    std::shared_ptr<Node> node;
    bool has_slots = false;
    std::optional<ServerInfo> greeted;     // set while connected
    bool told = false;                     // the observer knows about the connection
    TimePoint used_at = TimePoint::min();  // for a node without slots: when it was last needed
  };

  template <class Number>
  std::uint64_t total(Number number) const;

  Member& add(Target target);
  Member& member(const HostPort& address);
  Observer observer_of(Member& member);
  void on_connected(Member& member, const ServerInfo& info);
  void on_lost(Member& member, const std::function<void(const Error&)>& tell, const Error& error);
  void tell_connected(Member& member);

  bool redirect(const HostPort& asked, Command& command, const Reply& reply);
  void doubt(std::optional<HostPort> knows = {});
  void ask_if_due();
  void ask();
  void on_slots(const Reply& reply);
  void on_map(SlotMap map);
  void on_no_slots(Error error);
  void let_go();
  void arm_timer();

  asio::io_context& context_;
  const Options options_;
  const Observer observer_;
  const std::shared_ptr<CredentialWatch> watch_;
  bool started_ = false;
  bool destroyed_ = false;
  std::vector<std::unique_ptr<Member>> members_;  // never empty

  // For a Cluster:
  Topology topology_;
  std::vector<Member*> primaries_;  // in the order of topology_.map().primaries()
  std::unique_ptr<SlotsQuestion> question_;
  std::string fault_;  // text of the last slot map error; "" after a slot map
  Timer timer_;
  TimePoint armed_for_ = TimePoint::max();
  std::uint64_t former_writes_ = 0;  // of removed nodes
  std::uint64_t redirects_ = 0;
};

class Client::Impl::SlotsQuestion final : public Command {
 public:
  explicit SlotsQuestion(Impl& owner) : owner_(owner) {}
  void write(CommandWriter& out, CallBy) override { out.array(2).bulk("CLUSTER").bulk("SLOTS"); }
  void on_reply(const Reply& reply) override { owner_.on_slots(reply); }
  void on_failure(Failure) override {
    owner_.topology_.not_answered();
    owner_.arm_timer();
  }

  HostPort asked;

 private:
  Impl& owner_;
};

Client::Impl::Impl(asio::io_context& context, Options options, Observer observer)
    : context_(context),
      options_(std::move(options)),
      observer_(std::move(observer)),
      watch_(std::make_shared<CredentialWatch>(
          context,
          std::vector{options_.password_file, options_.login_file, options_.tls_ca_file, options_.tls_cert_file,
                      options_.tls_key_file},
          [this] { rotate(); })),
      question_(std::make_unique<SlotsQuestion>(*this)),
      timer_(context) {
  if (!in_cluster()) {
    add(options_.target);
    return;
  }
  for (const HostPort& address : options_.target.cluster) add(redis::node_of(options_.target, address));
}

void Client::Impl::start() {
  if (std::exchange(started_, true) || destroyed_) return;
  watch_->start();
  for (const auto& each : members_) {
    if (observer_.endpoint_added) observer_.endpoint_added(each->endpoint);
    each->node->start();
  }
}

void Client::Impl::stop() {
  started_ = false;
  watch_->stop();
  timer_.cancel();
  armed_for_ = TimePoint::max();
  for (std::size_t i = 0; i < members_.size(); ++i) {  // a handler may add a member
    members_[i]->greeted.reset();
    members_[i]->told = false;
    members_[i]->node->stop();
  }
}

void Client::Impl::destroy() {
  destroyed_ = true;
  stop();
  do {  // handlers of one node may submit to another one
    for (std::size_t i = 0; i < members_.size(); ++i) members_[i]->node->destroy();
  } while (unfinished() > 0);
}

void Client::Impl::rotate() {
  for (std::size_t i = 0; i < members_.size(); ++i) members_[i]->node->rotate();
}

Node& Client::Impl::route(std::string_view key) {
  if (!in_cluster()) return *members_[0]->node;
  if (const auto owner = topology_.map().owner(slot_of(key))) return *primaries_[*owner]->node;
  const auto ready = std::ranges::find_if(members_, [](const auto& each) { return each->node->ready(); });
  return *(ready != members_.end() ? *ready : members_[0])->node;
}

std::optional<std::size_t> Client::Impl::node_of(std::string_view key) const {
  if (!in_cluster()) return 0;
  return topology_.map().owner(slot_of(key));
}

// In a Cluster, counts only nodes that have slots.
std::size_t Client::Impl::connected() const {
  if (!in_cluster()) return members_[0]->node->ready() ? 1 : 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(primaries_, [](const Member* each) { return each->node->ready(); }));
}

Breaker::State Client::Impl::breaker() const {
  Breaker::State worst = Breaker::State::closed;
  for (const auto& each : members_) worst = std::max(worst, each->node->breaker());
  return worst;
}

bool Client::Impl::busy(TimePoint now) const {
  return std::ranges::any_of(members_, [&](const auto& each) { return each->node->busy(now); });
}

template <class Number>
std::uint64_t Client::Impl::total(Number number) const {
  std::uint64_t sum = 0;
  for (const auto& each : members_) sum += (*each->node.*number)();
  return sum;
}

// Returns false if the reply names no node. `asked`: the node that replied.
bool Client::Impl::redirect(const HostPort& asked, Command& command, const Reply& reply) {
  const std::optional<Redirect> to = read_redirect(reply, asked);
  if (!to || !to->asking) doubt(to ? std::optional(to->node) : std::nullopt);
  if (!to) return false;
  ++redirects_;
  Member& next = member(to->node);
  next.used_at = Clock::now();
  next.node->resubmit(command, to->asking);
  arm_timer();
  return true;
}

Client::Impl::Member& Client::Impl::add(Target target) {
  Member& made = *members_.emplace_back(std::make_unique<Member>());
  made.address = {target.host, target.port};
  made.endpoint = to_string(target);
  Options options = options_;
  options.target = std::move(target);
  Node::Redirect redirect;
  if (in_cluster()) {
    redirect = [this, &made](Command& command, const Reply& reply) {
      return this->redirect(made.address, command, reply);
    };
  }
  made.node = std::make_shared<Node>(context_, std::move(options), observer_of(made), std::move(redirect));
  return made;
}

Client::Impl::Member& Client::Impl::member(const HostPort& address) {
  const auto known = std::ranges::find_if(members_, [&](const auto& each) { return each->address == address; });
  if (known != members_.end()) return **known;
  Member& made = add(redis::node_of(options_.target, address));
  if (!started_) return made;
  if (observer_.endpoint_added) observer_.endpoint_added(made.endpoint);
  made.node->start();
  return made;
}

Observer Client::Impl::observer_of(Member& member) {
  if (!in_cluster()) return observer_;
  Observer made = observer_;
  made.connected = [this, &member](const ServerInfo& info) { on_connected(member, info); };
  made.rotated = [this, &member](const ServerInfo& info) {
    if (member.has_slots && observer_.rotated) observer_.rotated(info);
  };
  made.rotation_failed = [this, &member](const Error& error) {
    if (member.has_slots && observer_.rotation_failed) observer_.rotation_failed(error);
  };
  made.connect_failed = [this, &member](const Error& error) { on_lost(member, observer_.connect_failed, error); };
  made.disconnected = [this, &member](const Error& error) { on_lost(member, observer_.disconnected, error); };
  return made;
}

// Reports only connections to nodes that have slots.
void Client::Impl::tell_connected(Member& member) {
  if (!member.has_slots || !member.greeted || std::exchange(member.told, true)) return;
  if (observer_.connected) observer_.connected(*member.greeted);
}

void Client::Impl::on_connected(Member& member, const ServerInfo& info) {
  member.greeted = info;
  member.told = false;
  tell_connected(member);
  topology_.reachable();
  ask_if_due();
}

void Client::Impl::on_lost(Member& member, const std::function<void(const Error&)>& tell, const Error& error) {
  member.greeted.reset();
  member.told = false;
  doubt();
  if (tell && (member.has_slots || topology_.map().empty())) tell(error);
}

void Client::Impl::let_go() {
  if (topology_.map().empty()) return;
  const TimePoint idle_since = Clock::now() - kKeepIdle;
  std::erase_if(members_, [&](const auto& each) {
    const bool needed = each->has_slots || each->used_at > idle_since || each->node->unfinished() > 0;
    if (needed) return false;
    former_writes_ += each->node->writes();
    each->node->destroy();
    if (observer_.endpoint_removed) observer_.endpoint_removed(each->endpoint);
    return true;
  });
}

void Client::Impl::doubt(std::optional<HostPort> knows) {
  topology_.doubt(std::move(knows));
  ask_if_due();
}

void Client::Impl::ask_if_due() {
  if (!started_) return;
  if (topology_.next_question() <= Clock::now()) ask();
  arm_timer();
}

void Client::Impl::ask() {
  std::vector<HostPort> able;
  for (const auto& each : members_) {
    // A half-open breaker lets one command pass, which may be the question.
    if (each->node->ready() && each->node->breaker() != Breaker::State::open) able.push_back(each->address);
  }
  const TimePoint now = Clock::now();
  const std::optional<std::size_t> chosen = topology_.ask(able, now);
  if (!chosen) {
    // All nodes may have new addresses, so the names in the URL are looked up again.
    for (const HostPort& address : options_.target.cluster) member(address).used_at = now;
    return;
  }
  question_->asked = able[*chosen];
  member(question_->asked).node->submit(*question_, {.answer_by = now + kMapWithin});
}

void Client::Impl::on_slots(const Reply& reply) {
  const std::string node = to_string(question_->asked);
  if (reply.is_error()) {
    topology_.not_answered();
    const bool forbidden = reply.error_code() == "NOPERM";
    on_no_slots(
        {forbidden ? "permission" : "protocol", fmt::format("{}: the slot map is refused ({}){}", node, quote(reply),
                                                            forbidden ? ": grant the user +cluster|slots" : "")});
  } else if (Result<SlotMap> map = SlotMap::read(reply, question_->asked)) {
    if (!map->empty()) {
      on_map(*std::move(map));
    } else {
      topology_.not_answered();
      on_no_slots({"no_slots", fmt::format("{}: this node knows of no node with slots", node)});
    }
  } else {
    topology_.not_answered();
    on_no_slots({"protocol", fmt::format("{}: {}", node, map.error().text)});
  }
  arm_timer();
}

void Client::Impl::on_map(SlotMap map) {
  topology_.answered(std::move(map));
  primaries_.clear();
  for (const HostPort& address : topology_.map().primaries()) primaries_.push_back(&member(address));
  const TimePoint now = Clock::now();
  for (const auto& each : members_) {
    const bool has_slots = std::ranges::find(primaries_, each.get()) != primaries_.end();
    if (each->has_slots && !has_slots) {
      each->told = false;
      each->used_at = now;
    }
    each->has_slots = has_slots;
  }
  fault_.clear();
  if (connected() < primaries_.size()) topology_.doubt();
  // Posted, because let_go() destroys nodes, and a handler of a node is running now.
  asio::post(context_, [self = shared_from_this()] {
    if (!self->started_) return;
    for (std::size_t i = 0; i < self->primaries_.size(); ++i) self->tell_connected(*self->primaries_[i]);
    if (self->observer_.slots_changed) self->observer_.slots_changed();
    self->let_go();
  });
}

void Client::Impl::on_no_slots(Error error) {
  if (std::exchange(fault_, error.text) == error.text) return;
  if (observer_.connect_failed) observer_.connect_failed(error);
}

// For the next question, and to remove idle nodes.
void Client::Impl::arm_timer() {
  if (!started_ || !in_cluster()) return;
  const bool spare = members_.size() > primaries_.size() && !primaries_.empty();
  const TimePoint next = std::min(topology_.next_question(), spare ? Clock::now() + kKeepIdle : TimePoint::max());
  if (next >= armed_for_) return;  // the timer may fire too early; it is then armed again
  armed_for_ = next;
  timer_.expires_at(next);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (error || !self->started_) return;
    self->armed_for_ = TimePoint::max();
    self->let_go();
    self->ask_if_due();
  });
}

Client::Client(asio::io_context& context, Options options, Observer observer)
    : impl_(std::make_shared<Impl>(context, std::move(options), std::move(observer))) {}

Client::~Client() { impl_->destroy(); }

void Client::start() { impl_->start(); }
void Client::stop() { impl_->stop(); }
void Client::look_for_nodes() { impl_->look_for_nodes(); }
bool Client::ready() const { return impl_->nodes() > 0 && impl_->connected() == impl_->nodes(); }
bool Client::reachable() const { return impl_->connected() > 0; }
std::optional<std::size_t> Client::node_of(std::string_view key) const { return impl_->node_of(key); }
std::uint64_t Client::slots_hash(std::size_t node) const { return impl_->slots_hash(node); }
const std::string& Client::endpoint(std::size_t node) const { return impl_->endpoint(node); }
bool Client::in_cluster() const { return impl_->in_cluster(); }
std::size_t Client::nodes() const { return impl_->nodes(); }
std::size_t Client::unfinished() const { return impl_->unfinished(); }
std::size_t Client::waiting() const { return impl_->waiting(); }
std::size_t Client::window() const { return impl_->window(); }
bool Client::busy(TimePoint now) const { return impl_->busy(now); }
std::uint64_t Client::writes() const { return impl_->writes(); }
std::uint64_t Client::redirects() const { return impl_->redirects(); }
Breaker::State Client::breaker() const { return impl_->breaker(); }

void Client::submit(Command& command, std::string_view key, const Terms& terms) {
  impl_->route(key).submit(command, terms);
}
void Client::resubmit(Command& command, std::string_view key) { impl_->route(key).resubmit(command); }
bool Client::postpone(Command& command, std::string_view key) { return impl_->route(key).postpone(command); }

}  // namespace sluice::redis
