package dev.sluice.client.web;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.StringJoiner;

/** The address of a client as the subject of a check. */
public final class ClientAddress {
  private ClientAddress() {}

  /**
   * {@code ip:203.0.113.7}; of an IPv6 address its /64, {@code ip:2001:db8:1:2::/64}, because one client has all of it.
   *
   * @param address a literal address; anything else is used as it is, behind {@code ip:}; null for none, which is
   *     {@code ip:unknown}
   */
  public static String subject(String address) {
    if (address == null || address.isEmpty()) {
      return "ip:unknown";
    }
    InetAddress parsed = parse(address);
    if (parsed == null) {
      return "ip:" + address;
    }
    if (parsed instanceof Inet4Address) {
      return "ip:" + parsed.getHostAddress();
    }
    byte[] network = Arrays.copyOf(parsed.getAddress(), 8);
    StringJoiner groups = new StringJoiner(":");
    int last = 8;
    while (last > 0 && network[last - 1] == 0 && network[last - 2] == 0) {
      last -= 2;
    }
    for (int i = 0; i < last; i += 2) {
      groups.add(Integer.toHexString((network[i] & 0xff) << 8 | network[i + 1] & 0xff));
    }
    return "ip:" + groups + "::/64";
  }

  /** Never looks a name up. An IPv4 address in IPv6 is one of IPv4. */
  private static InetAddress parse(String address) {
    if (!address.matches("[0-9.]+|[0-9a-fA-F:.]+(%.*)?") || !address.matches(".*[.:].*")) {
      return null;
    }
    try {
      return InetAddress.getByName(address.replaceAll("%.*", ""));
    } catch (UnknownHostException noAddress) {
      return null;
    }
  }
}
