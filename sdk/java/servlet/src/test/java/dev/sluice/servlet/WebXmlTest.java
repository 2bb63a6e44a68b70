package dev.sluice.servlet;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.sluice.testsupport.TestAgent;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.apache.tomcat.util.descriptor.web.FilterDef;
import org.apache.tomcat.util.descriptor.web.FilterMap;
import org.junit.jupiter.api.Test;

/** The filter as a web.xml names it: by its class, with a client of its own. */
class WebXmlTest {
  @Test
  void theContainerMakesTheFilter() throws Exception {
    Tomcat tomcat = new Tomcat();
    Path base = Files.createTempDirectory("tomcat-");
    tomcat.setBaseDir(base.toString());
    tomcat.setPort(0);
    tomcat.setHostname("127.0.0.1");
    tomcat.setSilent(true);
    Context context = tomcat.addContext("", null);
    FilterDef filter = new FilterDef();
    filter.setFilterName("sluice");
    filter.setFilterClass(SluiceFilter.class.getName());
    filter.addInitParameter("routes", "/users/{id}  /files/**");
    context.addFilterDef(filter);
    FilterMap map = new FilterMap();
    map.setFilterName("sluice");
    map.addURLPattern("/*");
    context.addFilterMap(map);
    Tomcat.addServlet(context, "checked", new HttpServlet() {
      private static final long serialVersionUID = 1L;

      @Override
      protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        response.getWriter().print(LimitedRequest.decision(request).isPresent());
      }
    });
    context.addServletMappingDecoded("/*", "checked");
    tomcat.start();
    try {
      // Nobody gave it a key, so there is no decision of an agent, and the request passes.
      URI uri = URI.create("http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/users/1");
      HttpResponse<String> response = HttpClient.newHttpClient().send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
      assertEquals("true", response.body());
    } finally {
      tomcat.stop();
      tomcat.destroy();
      TestAgent.delete(base);
    }
  }
}
