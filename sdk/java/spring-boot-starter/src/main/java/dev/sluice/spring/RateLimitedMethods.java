package dev.sluice.spring;

import java.lang.reflect.Method;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.stereotype.Controller;

/** The methods that have {@link RateLimited}, but for those of controllers: their requests are checked. */
final class RateLimitedMethods extends StaticMethodMatcherPointcut {
  @Override
  public boolean matches(Method method, Class<?> type) {
    return !AnnotatedElementUtils.hasAnnotation(type, Controller.class) && method.getDeclaringClass() != Object.class
        && rule(method, type) != null;
  }

  /** The annotation of a method, else of its class; null for none. */
  static RateLimited rule(Method method, Class<?> type) {
    Method own = AopUtils.getMostSpecificMethod(method, type);
    RateLimited rule = AnnotatedElementUtils.findMergedAnnotation(own, RateLimited.class);
    return rule != null ? rule : AnnotatedElementUtils.findMergedAnnotation(type, RateLimited.class);
  }
}
