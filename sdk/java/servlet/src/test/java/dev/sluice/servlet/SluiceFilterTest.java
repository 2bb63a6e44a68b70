package dev.sluice.servlet;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.sluice.client.Check;
import dev.sluice.client.Decision;
import dev.sluice.client.OnError;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.web.WebOptions;
import dev.sluice.testsupport.TestAgent;
import dev.sluice.testsupport.WebSuite;
import dev.sluice.testsupport.Work;
import jakarta.servlet.AsyncContext;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.catalina.Context;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.descriptor.web.FilterDef;
import org.apache.tomcat.util.descriptor.web.FilterMap;
import org.junit.jupiter.api.Test;

/** The filter in Tomcat. */
class SluiceFilterTest extends WebSuite {
  @Override
  protected Application serve(TestAgent agent, OnError onError) throws Exception {
    SluiceClient client = agent.client(onError);
    WebOptions<HttpServletRequest> options = new WebOptions<HttpServletRequest>()
        .key(request -> request.getHeader("X-User") == null ? null : "user:" + request.getHeader("X-User"))
        .cost(request -> request.getServletPath().equals("/upload") ? 5 : 1)
        .exempt(request -> request.getServletPath().equals("/free"))
        .resource(request -> request.getServletPath().equals("/planned") ? "planned" : null)
        .planId(request -> request.getServletPath().equals("/planned") ? "two" : null);
    Tomcat tomcat = new Tomcat();
    Path base = Files.createTempDirectory("tomcat-");
    tomcat.setBaseDir(base.toString());
    tomcat.setPort(0);
    tomcat.setHostname("127.0.0.1");
    tomcat.setSilent(true);
    Context context = tomcat.addContext("", null);
    FilterDef filter = new FilterDef();
    filter.setFilterName("sluice");
    filter.setFilter(new SluiceFilter(client, options).routes(List.of("/users/{id}")));
    filter.setAsyncSupported("true");
    context.addFilterDef(filter);
    FilterMap map = new FilterMap();
    map.setFilterName("sluice");
    map.addURLPattern("/*");
    for (String dispatcher : List.of("REQUEST", "ASYNC", "ERROR", "FORWARD")) {
      map.setDispatcher(dispatcher);
    }
    context.addFilterMap(map);
    add(tomcat, context, "/users/*", (request, response) -> {
      if (request.getPathInfo().equals("/reset")) {
        response.reset();
      }
      response.getWriter().print(request.getPathInfo().substring(1));
    });
    for (String path : List.of("/files/*", "/upload", "/free", "/planned", "/shadow", "/delayed", "/slow")) {
      add(tomcat, context, path, (request, response) -> response.getWriter().print("ok"));
    }
    add(tomcat, context, "/smaller", (request, response) ->
        response.getWriter().print(LimitedRequest.decision(request).flatMap(Decision::downgradeTo).orElse("")));
    add(tomcat, context, "/own", (request, response) -> {
      response.addHeader("X-RateLimit-Limit", "own");
      response.setHeader("Access-Control-Expose-Headers", "X-Mine");
    });
    add(tomcat, context, "/job", (request, response) -> Work.run(request.getParameter("fail") != null));
    add(tomcat, context, "/async", SluiceFilterTest::async);
    add(tomcat, context, "/stream", SluiceFilterTest::stream);
    add(tomcat, context, "/", (request, response) -> response.sendError(404));
    tomcat.start();
    int port = tomcat.getConnector().getLocalPort();
    return new Application() {
      @Override
      public int port() {
        return port;
      }

      @Override
      public void close() {
        try {
          tomcat.stop();
          tomcat.destroy();
        } catch (LifecycleException failed) {
          throw new IllegalStateException(failed);
        }
        client.close();
        TestAgent.delete(base);
      }
    };
  }

  @Test
  void theMappingOfAServletIsTheEndpoint() {
    Decision decision = asks().check(Check.of("GET:/files/{path}", "user:mapping").toBuilder()
        .field("endpoint", "/files/{path}").cost(0).build());
    assertEquals(2, decision.remaining().orElse(-1));
    wants(200, get("/files/x/y/z", "mapping"));
    assertEquals("0", header(wants(200, get("/files/x", "mapping")), "X-RateLimit-Remaining"));
  }

  @Test
  void aResponseThatIsResetKeepsTheHeaders() {
    assertEquals("2", header(wants(200, get("/users/reset", "reset")), "X-RateLimit-Limit"));
  }

  private interface Handler {
    void handle(HttpServletRequest request, HttpServletResponse response) throws IOException;
  }

  private static void add(Tomcat tomcat, Context context, String mapping, Handler handler) {
    HttpServlet servlet = new HttpServlet() {
      private static final long serialVersionUID = 1L;

      @Override
      protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        handler.handle(request, response);
      }
    };
    Tomcat.addServlet(context, mapping, servlet).setAsyncSupported(true);
    context.addServletMappingDecoded(mapping, mapping);
  }

  private static void async(HttpServletRequest request, HttpServletResponse response) {
    AsyncContext started = request.startAsync();
    boolean fail = request.getParameter("fail") != null;
    new Thread(() -> {
      try {
        Work.run(fail);
      } catch (IllegalStateException failed) {
        ((HttpServletResponse) started.getResponse()).setStatus(500);
      }
      started.complete();
    }).start();
  }

  private static void stream(HttpServletRequest request, HttpServletResponse response) throws IOException {
    byte[] chunk = new byte[1 << 16];
    while (true) {
      response.getOutputStream().write(chunk);
      response.flushBuffer();
    }
  }
}
