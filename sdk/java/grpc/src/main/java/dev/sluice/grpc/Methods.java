package dev.sluice.grpc;

import java.util.Map;

/** The names of a gRPC method. */
final class Methods {
  private Methods() {}

  /** The fields of a check that name the method in gRPC's own way. */
  static Map<String, String> fields(String fullName) {
    int slash = fullName.lastIndexOf('/');
    return Map.of("signal", "grpc", "service", fullName.substring(0, Math.max(slash, 0)), "operation", fullName.substring(slash + 1));
  }

  /** The path of a method: {@code /PACKAGE.SERVICE/METHOD}. */
  static String path(String fullName) {
    return "/" + fullName;
  }
}
