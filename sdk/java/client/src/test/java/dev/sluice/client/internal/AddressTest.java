package dev.sluice.client.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AddressTest {
  @ParameterizedTest
  @CsvSource({"http://127.0.0.1:8088, true", "http://[::1]:8088, true", "http://localhost:8088, true", "unix:///run/agent.sock, true",
      "http://agent-0.agents:8088, false", "http://agent0:8088, false", "http://agent.example, false"})
  void namesAreLookedUpForEachConnectionAndWithinTheTimeOfACall(String url, boolean fixed) {
    assertEquals(fixed, Address.parse("url", url).isFixed());
  }

  @Test
  void anAddressIsKnownWithoutALookup() throws IOException {
    assertEquals(List.of(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 8088)),
        Address.parse("url", "http://127.0.0.1:8088").toConnect(Deadline.in(Duration.ZERO)));
    assertThrows(Deadline.PassedException.class, () -> Address.parse("url", "http://agent-0.invalid").toConnect(Deadline.in(Duration.ZERO)));
  }

  @Test
  void theNextAddressOfAHostIsTriedIfOneRefuses() throws IOException {
    InetAddress loopback = InetAddress.getByName("127.0.0.1");
    int refused;
    try (ServerSocket closed = new ServerSocket(0, 1, loopback)) {
      refused = closed.getLocalPort();
    }
    Address address = Address.parse("url", "http://agent.example");
    SocketAddress nobody = new InetSocketAddress(loopback, refused);
    try (ServerSocket agent = new ServerSocket(0, 1, loopback)) {
      Wire.open(address, List.of(nobody, agent.getLocalSocketAddress()), null, Deadline.in(Duration.ofSeconds(10))).close();
    }
    assertThrows(ConnectException.class, () -> Wire.open(address, List.of(nobody, nobody), null, Deadline.in(Duration.ofSeconds(10))));
  }
}
