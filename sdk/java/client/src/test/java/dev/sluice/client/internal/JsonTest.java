package dev.sluice.client.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
  @Test
  void readsEveryKindOfValue() {
    Object value = Json.parse(" {\"a\":[1,-2.5,1e3,true,false,null,\"x\\u00e9\\n\\\"\\/\"],\"b\":{},\"c\":[] , \"d\":9223372036854775808}");
    assertEquals(Arrays.asList(1L, -2.5, 1000.0, true, false, null, "xé\n\"/"), ((Map<?, ?>) value).get("a"));
    assertEquals(Map.of(), ((Map<?, ?>) value).get("b"));
    assertEquals(List.of(), ((Map<?, ?>) value).get("c"));
    assertEquals(9.223372036854775808e18, ((Map<?, ?>) value).get("d"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "{", "[1,]", "{\"a\":1,}", "01", "1.", "-", "+1", "nul", "\"a", "\"\\x\"", "\"\\u12\"", "\"\n\"", "{} {}", "{a:1}", "NaN"})
  void refusesWhatIsNoJson(String text) {
    assertThrows(IllegalArgumentException.class, () -> Json.parse(text));
  }

  @Test
  void refusesDeepNesting() {
    assertEquals(List.of(List.of()), Json.parse("[[]]"));
    assertThrows(IllegalArgumentException.class, () -> Json.parse("[".repeat(100_000)));
  }

  @Test
  void writesWhatItReads() {
    String text = "{\"a\":[1,2.5,true,null,\"q\\\"\\\\\\u000a\"],\"b\":{}}";
    assertEquals(text, Json.write(Json.parse(text)));
    assertEquals("\"\\ud83d\\ude00\"", Json.write("😀"));
    assertThrows(IllegalArgumentException.class, () -> Json.write(Double.NaN));
    assertThrows(IllegalArgumentException.class, () -> Json.write(Map.of("a", new Object())));
  }
}
