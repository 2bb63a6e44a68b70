// Names of attributes: those of OpenTelemetry's semantic conventions, and those of decisions.
#pragma once

#include <string_view>

namespace sluice::tracing::attribute {

inline constexpr std::string_view kErrorType = "error.type";
inline constexpr std::string_view kServerAddress = "server.address";
inline constexpr std::string_view kServerPort = "server.port";
inline constexpr std::string_view kNetworkPeerAddress = "network.peer.address";

inline constexpr std::string_view kHttpMethod = "http.request.method";
inline constexpr std::string_view kHttpRoute = "http.route";
inline constexpr std::string_view kHttpStatus = "http.response.status_code";
inline constexpr std::string_view kUrlPath = "url.path";
inline constexpr std::string_view kUrlScheme = "url.scheme";

inline constexpr std::string_view kRpcSystem = "rpc.system.name";
inline constexpr std::string_view kRpcMethod = "rpc.method";
inline constexpr std::string_view kRpcStatus = "rpc.response.status_code";

inline constexpr std::string_view kDbSystem = "db.system.name";
inline constexpr std::string_view kDbOperation = "db.operation.name";
inline constexpr std::string_view kDbNamespace = "db.namespace";
inline constexpr std::string_view kDbQuerySummary = "db.query.summary";
inline constexpr std::string_view kDbQueryText = "db.query.text";
inline constexpr std::string_view kDbBatchSize = "db.operation.batch.size";

inline constexpr std::string_view kTenant = "ratelimit.tenant";
inline constexpr std::string_view kPolicy = "ratelimit.policy";
inline constexpr std::string_view kPlan = "ratelimit.plan";
inline constexpr std::string_view kAlgorithm = "ratelimit.algorithm";
inline constexpr std::string_view kOutcome = "ratelimit.outcome";
inline constexpr std::string_view kReason = "ratelimit.reason";
inline constexpr std::string_view kRemaining = "ratelimit.remaining";
inline constexpr std::string_view kCost = "ratelimit.cost";
inline constexpr std::string_view kOverLimit = "ratelimit.over_limit";
inline constexpr std::string_view kShadow = "ratelimit.shadow";
inline constexpr std::string_view kSubjectHash = "ratelimit.subject_hash";
inline constexpr std::string_view kHeldMs = "ratelimit.held_ms";
inline constexpr std::string_view kDomain = "ratelimit.domain";
inline constexpr std::string_view kDescriptors = "ratelimit.descriptors";
inline constexpr std::string_view kDescriptorsOver = "ratelimit.descriptors_over_limit";
inline constexpr std::string_view kRequestId = "ratelimit.request_id";

}  // namespace sluice::tracing::attribute
