package dev.sluice.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * How a method is limited. That of a method replaces that of its class.
 *
 * <p>On a controller it says what is special about a route; the check is made before the body is read. On a method of any
 * other bean it has calls checked, and a denied call throws a {@link RateLimitedException}. Calls of a bean to itself are
 * not seen.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface RateLimited {
  /** What is asked for. Default: {@code METHOD:ROUTE} of a controller, {@code Class.method} of another bean. */
  String resource() default "";

  /**
   * The subject that is charged, as a SpEL expression such as {@code 'user:' + #id}. It has {@code #request}, and the
   * arguments by their names; on a controller path variables and request parameters only. Default, and if the value is
   * null or empty: {@code sluice.web.key} on a controller, the client's address in a request, else the application's name.
   */
  String key() default "";

  /** What it costs, as a SpEL expression such as {@code #items.size()}. */
  String cost() default "1";

  /** Judges by this plan instead of by matching policies. */
  String planId() default "";

  /** No check is made. */
  boolean exempt() default false;
}
