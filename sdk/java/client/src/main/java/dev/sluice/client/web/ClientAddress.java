package dev.sluice.client.web;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The address of a client as the subject of a check. */
public final class ClientAddress {
  // Java takes every other text for a name, but not one with a colon.
  private static final Pattern IPV4 = Pattern.compile("(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\\.(?!$)|$)){4}");
  private static final Pattern IPV6 = Pattern.compile("[0-9a-fA-F.]*:[0-9a-fA-F:.]*(?:%.*)?");

  private static final Pattern ZEROS = Pattern.compile("\\b0(?::0\\b)+");

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

  /** A client's whole address, without a zone, as RFC 5952 writes it; null for what is none. */
  static String whole(String address) {
    InetAddress parsed = address == null ? null : parse(address);
    if (parsed == null || parsed instanceof Inet4Address) {
      return parsed == null ? null : parsed.getHostAddress();
    }
    String zeros = ""; // the longest run of groups that are 0, at least two; of several the first
    String text = parsed.getHostAddress().replaceAll("%.*", "");
    Matcher runs = ZEROS.matcher(text);
    while (runs.find()) {
      zeros = runs.group().length() > zeros.length() ? runs.group() : zeros;
    }
    return zeros.isEmpty() ? text : text.replaceFirst("(?:^|:)\\b" + zeros + "\\b(?::|$)", "::");
  }

  /** Never looks a name up: the text may be of a header. An IPv4 address in IPv6 is one of IPv4. */
  private static InetAddress parse(String address) {
    if (!IPV4.matcher(address).matches() && !IPV6.matcher(address).matches()) {
      return null;
    }
    try {
      return InetAddress.getByName(address.replaceAll("%.*", ""));
    } catch (UnknownHostException noAddress) {
      return null;
    }
  }
}
