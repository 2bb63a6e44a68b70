package dev.sluice.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.RetryInfo;
import dev.sluice.client.Check;
import dev.sluice.client.Decision;
import dev.sluice.client.OnError;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.testing.SluiceDouble;
import dev.sluice.client.web.WebOptions;
import dev.sluice.testsupport.TestAgent;
import dev.sluice.testsupport.Work;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Both interceptors between a real server and a real client. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class GrpcTest {
  private static final Metadata.Key<String> USER = Metadata.Key.of("x-user", Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> REMAINING = Metadata.Key.of("x-ratelimit-remaining", Metadata.ASCII_STRING_MARSHALLER);

  private TestAgent agent;
  private SluiceClient asks;
  private Served served;

  /** A server and a channel to it. */
  private static final class Served implements AutoCloseable {
    final Server server;
    final ManagedChannel channel;
    final SluiceClient client;
    final AtomicReference<Decision> seen = new AtomicReference<>();

    Served(TestAgent agent, OnError onError) throws IOException {
      client = agent.client(onError);
      WebOptions<SluiceServerInterceptor.Call> options = new WebOptions<SluiceServerInterceptor.Call>()
          .key(call -> call.headers().get(USER) == null ? null : "user:" + call.headers().get(USER))
          .exempt(call -> "exempt".equals(call.headers().get(USER)));
      server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0)).addService(new Health(seen))
          .intercept(new SluiceServerInterceptor(client, options)).build().start();
      channel = NettyChannelBuilder.forAddress("127.0.0.1", server.getPort()).usePlaintext().build();
    }

    HealthGrpc.HealthBlockingStub as(String user) {
      Metadata headers = new Metadata();
      if (user != null) {
        headers.put(USER, user);
      }
      return HealthGrpc.newBlockingStub(channel).withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
    }

    @Override
    public void close() {
      channel.shutdownNow();
      server.shutdownNow();
      client.close();
    }
  }

  /** Check answers; Watch works until the suite lets it end. */
  private static final class Health extends HealthGrpc.HealthImplBase {
    private final AtomicReference<Decision> seen;

    Health(AtomicReference<Decision> seen) {
      this.seen = seen;
    }

    @Override
    public void check(HealthCheckRequest request, StreamObserver<HealthCheckResponse> response) {
      seen.set(SluiceServerInterceptor.decision().orElse(null));
      response.onNext(HealthCheckResponse.getDefaultInstance());
      response.onCompleted();
    }

    @Override
    public void watch(HealthCheckRequest request, StreamObserver<HealthCheckResponse> response) {
      response.onNext(HealthCheckResponse.getDefaultInstance());
      if (request.getService().equals("forever")) {
        return;
      }
      Work.run(request.getService().equals("fail"));
      response.onCompleted();
    }
  }

  @BeforeAll
  void start() throws IOException {
    agent = new TestAgent();
    asks = agent.client(OnError.RAISE);
    served = new Served(agent, OnError.ALLOW);
  }

  @AfterAll
  void stop() {
    served.close();
    asks.close();
    agent.close();
  }

  private static StatusRuntimeException refused(Status.Code code, HealthGrpc.HealthBlockingStub stub) {
    StatusRuntimeException refusal = assertThrows(StatusRuntimeException.class, () -> stub.check(HealthCheckRequest.getDefaultInstance()));
    assertEquals(code, refusal.getStatus().getCode());
    return refusal;
  }

  private static long retrySeconds(StatusRuntimeException refusal) throws InvalidProtocolBufferException {
    com.google.rpc.Status status = StatusProto.fromThrowable(refusal);
    return status.getDetails(0).unpack(RetryInfo.class).getRetryDelay().getSeconds();
  }

  private static Check lease(String user) {
    return Check.of("POST:/grpc.health.v1.Health/Watch", user).toBuilder().field("endpoint", "/grpc.health.v1.Health/Watch").build();
  }

  @Test
  void limitsByTheMethod() throws Exception {
    AtomicReference<Metadata> headers = new AtomicReference<>();
    AtomicReference<Metadata> trailers = new AtomicReference<>();
    HealthGrpc.HealthBlockingStub stub = served.as("ann").withInterceptors(MetadataUtils.newCaptureMetadataInterceptor(headers, trailers));
    stub.check(HealthCheckRequest.getDefaultInstance());
    assertEquals("1", headers.get().get(REMAINING));
    assertEquals(1, served.seen.get().remaining().orElse(-1));
    stub.check(HealthCheckRequest.getDefaultInstance());
    StatusRuntimeException refusal = refused(Status.Code.RESOURCE_EXHAUSTED, stub);
    assertTrue(retrySeconds(refusal) > 0 && retrySeconds(refusal) <= 3600);
    assertEquals("0", refusal.getTrailers().get(REMAINING));
    served.as("bob").check(HealthCheckRequest.getDefaultInstance());
    for (int i = 0; i < 4; i++) {
      served.as("exempt").check(HealthCheckRequest.getDefaultInstance());
      assertNull(served.seen.get());
    }
  }

  @Test
  void theClientsAddressIsTheSubject() {
    served.as(null).check(HealthCheckRequest.getDefaultInstance());
    served.as(null).check(HealthCheckRequest.getDefaultInstance());
    refused(Status.Code.RESOURCE_EXHAUSTED, served.as(null));
    String resource = "POST:/grpc.health.v1.Health/Check";
    assertFalse(asks.check(Check.of(resource, "ip:127.0.0.1").toBuilder().field("endpoint", "/grpc.health.v1.Health/Check").build()).allowed());
  }

  @Test
  void aLeaseLastsAsLongAsTheStream() throws Exception {
    Iterator<HealthCheckResponse> stream = served.as("carl").watch(HealthCheckRequest.getDefaultInstance());
    assertNotNull(stream.next());
    Work.entered();
    Iterator<HealthCheckResponse> second = served.as("carl").watch(HealthCheckRequest.getDefaultInstance());
    assertEquals(Status.Code.RESOURCE_EXHAUSTED, assertThrows(StatusRuntimeException.class, second::next).getStatus().getCode());
    Thread.sleep(2500); // the lease lives for 2 s unless it is renewed
    assertFalse(TestAgent.free(asks, lease("user:carl")));
    Work.end();
    assertFalse(stream.hasNext());
    assertReturned("user:carl");

    Iterator<HealthCheckResponse> fails = served.as("carl").watch(HealthCheckRequest.newBuilder().setService("fail").build());
    Work.entered();
    assertEquals(Status.Code.UNKNOWN, assertThrows(StatusRuntimeException.class, () -> fails.forEachRemaining(each -> {})).getStatus().getCode());
    assertReturned("user:carl");
  }

  @Test
  void aLeaseEndsWhenTheClientGoesAway() throws Exception {
    Context.CancellableContext context = Context.current().withCancellation();
    Iterator<HealthCheckResponse> stream = context.call(() ->
        served.as("dora").watch(HealthCheckRequest.newBuilder().setService("forever").build()));
    assertNotNull(stream.next());
    assertFalse(TestAgent.free(asks, lease("user:dora")));
    context.cancel(null);
    assertReturned("user:dora");

    try (Served own = new Served(agent, OnError.ALLOW)) {
      assertNotNull(own.as("dora").watch(HealthCheckRequest.newBuilder().setService("forever").build()).next());
      assertFalse(TestAgent.free(asks, lease("user:dora")));
      own.channel.shutdownNow(); // the connection breaks
      assertReturned("user:dora");
    }
  }

  /** A lease that nobody gives back is renewed as long as its client lives. */
  private void assertReturned(String user) {
    TestAgent.until("the lease is free", () -> TestAgent.free(asks, lease(user)));
  }

  @ParameterizedTest
  @EnumSource(OnError.class)
  void theAgentIsKilled(OnError onError) throws Exception {
    try (TestAgent own = new TestAgent(); Served there = new Served(own, onError)) {
      there.as("emil").check(HealthCheckRequest.getDefaultInstance());
      own.kill();
      for (int i = 0; i < 4; i++) {
        if (onError == OnError.ALLOW) {
          there.as("emil").check(HealthCheckRequest.getDefaultInstance());
        } else {
          refused(Status.Code.UNAVAILABLE, there.as("emil"));
        }
      }
      own.restart();
      there.as("emil").check(HealthCheckRequest.getDefaultInstance());
      assertTrue(there.seen.get().decided());
    }
  }

  @Test
  void aShortDelayIsSleptAndShadowPasses() throws Exception {
    SluiceDouble sluice = SluiceDouble.scripted(List.of(Map.of("allowed", true, "delay_ms", 200L), Map.of("allowed", true, "delay_ms", 1500L),
        Map.of("allowed", true, "shadow", true, "would_allow", false)));
    Server server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0)).addService(new Health(new AtomicReference<>()))
        .intercept(new SluiceServerInterceptor(sluice)).build().start();
    ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", server.getPort()).usePlaintext().build();
    try {
      HealthGrpc.HealthBlockingStub stub = HealthGrpc.newBlockingStub(channel);
      long begun = System.nanoTime();
      stub.check(HealthCheckRequest.getDefaultInstance());
      assertTrue(System.nanoTime() - begun >= 200_000_000);
      assertEquals(1, retrySeconds(refused(Status.Code.RESOURCE_EXHAUSTED, stub)));
      stub.check(HealthCheckRequest.getDefaultInstance());
      Map<String, Object> fields = sluice.checks().get(0);
      assertEquals(List.of("grpc", "grpc.health.v1.Health", "Check", "POST:/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Check", "127.0.0.1"),
          List.of(fields.get("signal"), fields.get("service"), fields.get("operation"), fields.get("resource"), fields.get("endpoint"),
              fields.get("source_ip")));
      TestAgent.until("all leases are back", () -> sluice.openLeases().isEmpty());
    } finally {
      channel.shutdownNow();
      server.shutdownNow();
    }
  }

  @Test
  void aClientIsLimitedBeforeItSends() throws Exception {
    SluiceClientInterceptor interceptor = new SluiceClientInterceptor(asks).check((authority, method) ->
        Check.of("POST:/" + method, "out:" + authority.replaceAll(":.*", "")).toBuilder().planId("two").build());
    HealthGrpc.HealthBlockingStub stub = served.as("exempt").withInterceptors(interceptor);
    stub.check(HealthCheckRequest.getDefaultInstance());
    stub.check(HealthCheckRequest.getDefaultInstance());
    assertTrue(retrySeconds(refused(Status.Code.RESOURCE_EXHAUSTED, stub)) > 0);
    assertFalse(asks.check(Check.of("POST:/grpc.health.v1.Health/Check", "out:127.0.0.1").toBuilder().planId("two").build()).allowed());
  }

  @Test
  void aClientWaitsUntilItFits() {
    SluiceClientInterceptor patient = new SluiceClientInterceptor(asks).waitUpTo(Duration.ofSeconds(20)).check((authority, method) ->
        Check.of("POST:/" + method, "patient").toBuilder().planId("soon").build());
    HealthGrpc.HealthBlockingStub stub = served.as("exempt").withInterceptors(patient);
    long begun = System.nanoTime();
    for (int i = 0; i < 3; i++) { // one at once, and then four a second
      stub.check(HealthCheckRequest.getDefaultInstance());
    }
    assertTrue(System.nanoTime() - begun >= 300_000_000);
    SluiceClientInterceptor hasty = new SluiceClientInterceptor(asks).waitUpTo(Duration.ofMillis(200)).check((authority, method) ->
        Check.of("POST:/" + method, "hasty").toBuilder().planId("two").cost(2).build());
    stub = served.as("exempt").withInterceptors(hasty);
    stub.check(HealthCheckRequest.getDefaultInstance());
    refused(Status.Code.RESOURCE_EXHAUSTED, stub);
    assertThrows(IllegalArgumentException.class, () -> new SluiceClientInterceptor(asks).waitUpTo(Duration.ofMillis(-1)));
  }

  @Test
  void theLeaseOfACallThatWaitedIsKeptAliveAndGivenBack() throws Exception {
    SluiceClientInterceptor patient = new SluiceClientInterceptor(asks).waitUpTo(Duration.ofSeconds(20)).check((authority, method) ->
        Check.of("POST:/" + method, "gina").toBuilder().planId("one").build());
    Check one = Check.of("a", "gina").toBuilder().planId("one").build();
    Context.CancellableContext context = Context.current().withCancellation();
    Iterator<HealthCheckResponse> stream = context.call(() ->
        served.as("exempt").withInterceptors(patient).watch(HealthCheckRequest.newBuilder().setService("forever").build()));
    assertNotNull(stream.next());
    Thread.sleep(2500); // the lease lives for 2 s unless it is renewed
    assertFalse(TestAgent.free(asks, one));
    context.cancel(null);
    TestAgent.until("the lease is free", () -> TestAgent.free(asks, one));
  }

  @Test
  void aLeaseOfAClientLastsAsLongAsItsStream() throws Exception {
    SluiceDouble sluice = SluiceDouble.alwaysAllow();
    HealthGrpc.HealthStub stub = HealthGrpc.newStub(served.channel).withInterceptors(new SluiceClientInterceptor(sluice));
    CompletableFuture<Throwable> ended = new CompletableFuture<>();
    CompletableFuture<ClientCallStreamObserver<HealthCheckRequest>> call = new CompletableFuture<>();
    CompletableFuture<Boolean> begun = new CompletableFuture<>();
    stub.watch(HealthCheckRequest.newBuilder().setService("forever").build(), new ClientResponseObserver<HealthCheckRequest, HealthCheckResponse>() {
      @Override
      public void beforeStart(ClientCallStreamObserver<HealthCheckRequest> request) {
        call.complete(request);
      }

      @Override
      public void onNext(HealthCheckResponse response) {
        begun.complete(true);
      }

      @Override
      public void onError(Throwable failure) {
        ended.complete(failure);
      }

      @Override
      public void onCompleted() {}
    });
    begun.get();
    assertEquals(1, sluice.openLeases().size());
    call.get().cancel("enough", null);
    ended.get();
    TestAgent.until("the lease is back", () -> sluice.openLeases().isEmpty());
    Map<String, Object> fields = sluice.checks().get(0);
    assertEquals(List.of("grpc", "POST:/grpc.health.v1.Health/Watch", "127.0.0.1:" + served.server.getPort()),
        List.of(fields.get("signal"), fields.get("resource"), fields.get("subject")));
  }

  @ParameterizedTest
  @EnumSource(OnError.class)
  void aClientFollowsOnError(OnError onError) {
    try (TestAgent own = new TestAgent(); SluiceClient client = own.client(onError)) {
      own.kill();
      HealthGrpc.HealthBlockingStub stub = served.as("exempt").withInterceptors(new SluiceClientInterceptor(client));
      if (onError == OnError.ALLOW) {
        stub.check(HealthCheckRequest.getDefaultInstance());
      } else {
        refused(Status.Code.UNAVAILABLE, stub);
      }
    }
  }
}
