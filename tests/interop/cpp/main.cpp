// A stock grpc++ client with code that protoc generates: it makes the calls of tests/interop/README.md, and prints what
// it got as JSON.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "sluice/v1/decisions.grpc.pb.h"

namespace {

using namespace sluice::v1;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

[[noreturn]] void stop(const grpc::Status& status) {
  std::cerr << status.error_code() << ": " << status.error_message() << "\n";
  std::exit(1);
}

void require(const grpc::Status& status) {
  if (!status.ok()) stop(status);
}

// A call's context: its deadline, and the API key.
struct Context : grpc::ClientContext {
  explicit Context(const std::string& key = variable("SLUICE_KEY")) {
    set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    set_wait_for_ready(true);
    AddMetadata("x-api-key", key);
  }
};

std::shared_ptr<grpc::Channel> connect() {
  if (variable("SLUICE_CA").empty()) {
    return grpc::CreateChannel(variable("SLUICE_TARGET"), grpc::InsecureChannelCredentials());
  }
  std::ostringstream roots;
  roots << std::ifstream(variable("SLUICE_CA")).rdbuf();
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("localhost");
  return grpc::CreateCustomChannel(variable("SLUICE_TARGET"), grpc::SslCredentials({roots.str(), "", ""}), arguments);
}

CheckRequest check_of(const std::string& plan, const std::string& subject) {
  CheckRequest request;
  request.set_plan_id(plan);
  request.set_subject(subject);
  return request;
}

std::string word(bool value) { return value ? "true" : "false"; }

std::string stream(Decisions::Stub& stub, const std::string& subject) {
  Context context;
  const auto call = stub.CheckStream(&context);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    CheckStreamRequest request;
    request.set_id(id);
    *request.mutable_check() = check_of("two", subject);
    call->Write(request);
  }
  call->WritesDone();
  CheckStreamResponse answer;
  std::vector<std::uint64_t> ids;
  int allowed = 0;
  while (call->Read(&answer)) {
    ids.push_back(answer.id());
    allowed += answer.result().decision().allowed() ? 1 : 0;
  }
  require(call->Finish());
  std::sort(ids.begin(), ids.end());
  std::string text;
  for (const std::uint64_t id : ids) text += (text.empty() ? "\"" : ",\"") + std::to_string(id) + "\"";
  return "[[" + text + "]," + std::to_string(allowed) + "]";
}

bool lists_decisions(const std::shared_ptr<grpc::Channel>& channel) {
  using namespace grpc::reflection::v1;
  const auto stub = ServerReflection::NewStub(channel);
  Context context;
  const auto call = stub->ServerReflectionInfo(&context);
  ServerReflectionRequest request;
  request.set_list_services("");
  call->Write(request);
  ServerReflectionResponse answer;
  call->Read(&answer);
  call->WritesDone();
  require(call->Finish());
  const auto& listed = answer.list_services_response().service();
  return std::any_of(listed.begin(), listed.end(),
                     [](const auto& each) { return each.name() == "sluice.v1.Decisions"; });
}

std::string leases(Decisions::Stub& stub, const std::string& subject) {
  CheckResponse held;
  Context asking;
  require(stub.Check(&asking, check_of("leases", subject), &held));
  RenewRequest renew;
  renew.set_lease_id(held.lease_id());
  RenewResponse renewed;
  Context renewing;
  require(stub.Renew(&renewing, renew, &renewed));
  std::string text = "[" + word(renewed.renewed());
  for (int i = 0; i < 2; ++i) {
    ReleaseRequest release;
    release.set_lease_id(held.lease_id());
    ReleaseResponse released;
    Context releasing;
    require(stub.Release(&releasing, release, &released));
    text += "," + word(released.released());
  }
  return text + "]";
}

}  // namespace

int main() {
  const std::string subject = variable("SLUICE_SUBJECT");
  const auto channel = connect();
  const auto stub = Decisions::NewStub(channel);
  const CheckRequest check = check_of("two", subject);

  CheckResponse first;
  Context one;
  require(stub->Check(&one, check, &first));
  std::cout << "{\"check\":[" << word(first.allowed()) << ",\"" << first.remaining() << "\"]";

  CheckBatchRequest batch;
  *batch.add_checks() = check;
  *batch.add_checks() = check;
  CheckBatchResponse results;
  Context two;
  require(stub->CheckBatch(&two, batch, &results));
  std::cout << ",\"batch\":[" << word(results.results(0).decision().allowed()) << ","
            << word(results.results(1).decision().allowed()) << "]";

  CheckRequest strict = check;
  strict.set_deny_with_status(true);
  Context three;
  const grpc::Status denied = stub->Check(&three, strict, &first);
  std::cout << ",\"denied\":" << word(denied.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  std::cout << ",\"stream\":" << stream(*stub, subject + "-stream") << ",\"lease\":" << leases(*stub, subject);

  grpc::health::v1::HealthCheckRequest asked;
  asked.set_service("sluice.v1.Decisions");
  grpc::health::v1::HealthCheckResponse health;
  Context four;
  require(grpc::health::v1::Health::NewStub(channel)->Check(&four, asked, &health));
  std::cout << ",\"health\":\"" << grpc::health::v1::HealthCheckResponse::ServingStatus_Name(health.status())
            << "\",\"listed\":" << word(lists_decisions(channel));

  Context nobody("nobody");
  const grpc::Status refused = stub->Check(&nobody, check, &first);
  std::cout << ",\"stranger\":" << word(refused.error_code() == grpc::StatusCode::UNAUTHENTICATED) << "}\n";
}
