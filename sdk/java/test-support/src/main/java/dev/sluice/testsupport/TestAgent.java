package dev.sluice.testsupport;

import dev.sluice.client.Check;
import dev.sluice.client.Decision;
import dev.sluice.client.OnError;
import dev.sluice.client.SluiceClient;
import dev.sluice.client.SluiceOptions;
import dev.sluice.client.internal.Json;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * A real agent with counters in memory. Its program is that of the variable TEST_AGENT, or the newest build of this
 * repository. Its policies are those of {@code policies.json}; each limit counts for each subject.
 */
public final class TestAgent implements AutoCloseable {
  private final Path program = find();
  private final Path folder;
  private final Path log;
  private final int port;
  private final int admin;
  private final String key;
  private Process process;

  /** Starts an agent. */
  public TestAgent() {
    try {
      folder = Files.createTempDirectory("agent-");
      log = folder.resolve("log");
      port = freePort();
      admin = freePort();
      Process minting = new ProcessBuilder(program.toString(), "mint-key", "--tenant", "t", "--id", "test")
          .redirectError(log.toFile()).start();
      Map<?, ?> minted = (Map<?, ?>) Json.parse(new String(minting.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
      key = (String) minted.get("key");
      try (InputStream policies = TestAgent.class.getResourceAsStream("policies.json")) {
        String bundle = new String(policies.readAllBytes(), StandardCharsets.UTF_8);
        Files.writeString(folder.resolve("bundle.json"), bundle.replace("\"KEY\"", Json.write(minted.get("bundle_entry"))));
      }
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
    Runtime.getRuntime().addShutdownHook(new Thread(this::kill)); // also after a test that failed before it could close
    restart();
  }

  /** Where the agent is. */
  public String url() {
    return "http://127.0.0.1:" + port;
  }

  /** Its port. */
  public int port() {
    return port;
  }

  /** The tenant's API key. */
  public String key() {
    return key;
  }

  /** A client of the agent, with time for a busy machine. */
  public SluiceClient client(OnError onError) {
    return SluiceClient.create(SluiceOptions.with(Map.of()).url(url()).apiKey(key).timeout(Duration.ofSeconds(10)).onError(onError));
  }

  /** Starts the agent again where it was. Its counters are empty. */
  public void restart() {
    try {
      File output = log.toFile();
      process = new ProcessBuilder(program.toString(), "--counters", "memory", "--policies", folder.resolve("bundle.json").toString(),
          "--listen", "127.0.0.1:" + port, "--admin", "127.0.0.1:" + admin)
          .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.appendTo(output)).start();
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
    until("the agent is ready", this::ready);
  }

  private boolean ready() {
    try {
      if (!process.isAlive()) {
        throw new IllegalStateException("the agent ended: " + Files.readString(log));
      }
      HttpURLConnection asked = (HttpURLConnection) URI.create("http://127.0.0.1:" + admin + "/readyz").toURL().openConnection();
      return asked.getResponseCode() == 200;
    } catch (IOException notYet) {
      return false;
    }
  }

  /** Ends the agent at once. */
  public void kill() {
    process.destroyForcibly();
    try {
      process.waitFor(30, TimeUnit.SECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    kill();
    delete(folder);
  }

  /** Deletes a folder and what is in it. */
  public static void delete(Path folder) {
    try (Stream<Path> files = Files.walk(folder)) {
      files.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
    } catch (IOException left) {
      throw new UncheckedIOException(left);
    }
  }

  /** Whether a check would take a lease now. Takes none. */
  public static boolean free(SluiceClient client, Check check) {
    Decision decision = client.check(check);
    if (!decision.decided()) {
      throw new IllegalStateException("no decision: " + decision.error());
    }
    decision.leaseId().ifPresent(client::release);
    return decision.leaseId().isPresent();
  }

  /** Waits until something holds, 30 s at most. */
  public static void until(String what, BooleanSupplier holds) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!holds.getAsBoolean()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("this did not come within 30 s: " + what);
      }
      try {
        Thread.sleep(5);
      } catch (InterruptedException interrupted) {
        throw new IllegalStateException(interrupted);
      }
    }
  }

  /** A port that nobody listens on. */
  public static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private static Path find() {
    String given = System.getenv("TEST_AGENT");
    if (given != null && !given.isEmpty()) {
      return Path.of(given);
    }
    for (Path at = Path.of("").toAbsolutePath(); at != null; at = at.getParent()) {
      Optional<Path> newest = newestBuild(at.resolve("build"));
      if (newest.isPresent()) {
        return newest.get();
      }
    }
    throw new IllegalStateException("no agent: set TEST_AGENT to the program sluice-agent, or build it");
  }

  private static Optional<Path> newestBuild(Path builds) {
    File[] presets = builds.toFile().listFiles();
    return presets == null ? Optional.empty() : Stream.of(presets).map(preset -> new File(preset, "bin/sluice-agent"))
        .filter(File::canExecute).max(Comparator.comparingLong(File::lastModified)).map(File::toPath);
  }
}
