package dev.sluice.client.internal;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON (RFC 8259) as maps, lists, strings, booleans, null and numbers: {@code Long} for a whole number that fits, else
 * {@code Double}.
 */
public final class Json {
  private static final int MAX_DEPTH = 64;

  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  /**
   * Parses a text.
   *
   * @throws IllegalArgumentException if it is no JSON, or is nested more than 64 levels deep
   */
  public static Object parse(String text) {
    Json reader = new Json(text);
    Object value = reader.value(0);
    reader.skipSpace();
    if (reader.at != text.length()) {
      throw reader.wrong();
    }
    return value;
  }

  /**
   * Writes a value as compact JSON.
   *
   * @throws IllegalArgumentException for a value that JSON has no form for
   */
  public static String write(Object value) {
    StringBuilder out = new StringBuilder(128);
    append(out, value);
    return out.toString();
  }

  private static void append(StringBuilder out, Object value) {
    if (value == null || value instanceof Boolean) {
      out.append(value);
    } else if (value instanceof String string) {
      appendString(out, string);
    } else if (value instanceof Double || value instanceof Float) {
      double number = ((Number) value).doubleValue();
      if (Double.isNaN(number) || Double.isInfinite(number)) {
        throw new IllegalArgumentException("JSON has no form for " + number);
      }
      out.append(number);
    } else if (value instanceof Number) {
      out.append(value);
    } else if (value instanceof Map<?, ?> map) {
      char separator = '{';
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        out.append(separator);
        appendString(out, String.valueOf(entry.getKey()));
        out.append(':');
        append(out, entry.getValue());
        separator = ',';
      }
      out.append(map.isEmpty() ? "{}" : "}");
    } else if (value instanceof Iterable<?> list) {
      char separator = '[';
      for (Object item : list) {
        out.append(separator);
        append(out, item);
        separator = ',';
      }
      out.append(separator == '[' ? "[]" : "]");
    } else {
      throw new IllegalArgumentException("JSON has no form for a " + value.getClass().getName());
    }
  }

  private static void appendString(StringBuilder out, String string) {
    out.append('"');
    for (int i = 0; i < string.length(); i++) {
      char c = string.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < 0x20 || Character.isSurrogate(c)) {
        // A pair as two escapes, which means the same; a lone one is refused by the agent.
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    out.append('"');
  }

  private Object value(int depth) {
    skipSpace();
    if (at == text.length() || depth > MAX_DEPTH) {
      throw wrong();
    }
    char c = text.charAt(at);
    return switch (c) {
      case '{' -> object(depth);
      case '[' -> list(depth);
      case '"' -> string();
      case 't' -> word("true", Boolean.TRUE);
      case 'f' -> word("false", Boolean.FALSE);
      case 'n' -> word("null", null);
      default -> number();
    };
  }

  private Map<String, Object> object(int depth) {
    Map<String, Object> members = new LinkedHashMap<>();
    at++;
    skipSpace();
    if (take('}')) {
      return members;
    }
    do {
      skipSpace();
      if (at == text.length() || text.charAt(at) != '"') {
        throw wrong();
      }
      String name = string();
      skipSpace();
      expect(':');
      members.put(name, value(depth + 1));
      skipSpace();
    } while (take(','));
    expect('}');
    return members;
  }

  private List<Object> list(int depth) {
    List<Object> items = new ArrayList<>();
    at++;
    skipSpace();
    if (take(']')) {
      return items;
    }
    do {
      items.add(value(depth + 1));
      skipSpace();
    } while (take(','));
    expect(']');
    return items;
  }

  private String string() {
    at++;
    int end = at;
    while (end < text.length() && text.charAt(end) != '"' && text.charAt(end) != '\\' && text.charAt(end) >= 0x20) {
      end++;
    }
    if (end < text.length() && text.charAt(end) == '"') { // most strings have no escapes
      String plain = text.substring(at, end);
      at = end + 1;
      return plain;
    }
    StringBuilder out = new StringBuilder();
    while (true) {
      if (at == text.length()) {
        throw wrong();
      }
      char c = text.charAt(at++);
      if (c == '"') {
        return out.toString();
      }
      if (c < 0x20) {
        throw wrong();
      }
      out.append(c == '\\' ? escape() : c);
    }
  }

  private char escape() {
    if (at == text.length()) {
      throw wrong();
    }
    char c = text.charAt(at++);
    return switch (c) {
      case '"', '\\', '/' -> c;
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      case 'u' -> {
        if (at + 4 > text.length()) {
          throw wrong();
        }
        int code = 0;
        for (int i = 0; i < 4; i++) {
          int digit = Character.digit(text.charAt(at++), 16);
          if (digit < 0) {
            throw wrong();
          }
          code = code * 16 + digit;
        }
        yield (char) code;
      }
      default -> throw wrong();
    };
  }

  private Object number() {
    int begin = at;
    boolean whole = true;
    take('-');
    int digits = at;
    while (at < text.length() && isDigit(text.charAt(at))) {
      at++;
    }
    if (at == digits || (at - digits > 1 && text.charAt(digits) == '0')) {
      throw wrong();
    }
    if (take('.')) {
      whole = false;
      someDigits();
    }
    if (take('e') || take('E')) {
      whole = false;
      if (!take('+')) {
        take('-');
      }
      someDigits();
    }
    String number = text.substring(begin, at);
    if (whole) {
      try {
        return Long.valueOf(number);
      } catch (NumberFormatException tooLarge) {
        return Double.valueOf(number);
      }
    }
    return Double.valueOf(number);
  }

  private void someDigits() {
    int begin = at;
    while (at < text.length() && isDigit(text.charAt(at))) {
      at++;
    }
    if (at == begin) {
      throw wrong();
    }
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private Object word(String word, Object value) {
    if (!text.startsWith(word, at)) {
      throw wrong();
    }
    at += word.length();
    return value;
  }

  private void skipSpace() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private boolean take(char c) {
    if (at < text.length() && text.charAt(at) == c) {
      at++;
      return true;
    }
    return false;
  }

  private void expect(char c) {
    if (!take(c)) {
      throw wrong();
    }
  }

  private IllegalArgumentException wrong() {
    return new IllegalArgumentException("no JSON at character " + at);
  }
}
