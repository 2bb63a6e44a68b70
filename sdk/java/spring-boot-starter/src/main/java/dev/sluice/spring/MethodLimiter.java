package dev.sluice.spring;

import dev.sluice.client.Check;
import dev.sluice.client.Decision;
import dev.sluice.client.Lease;
import dev.sluice.client.Sluice;
import dev.sluice.client.SluiceException;
import dev.sluice.client.web.WebLimiter;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.expression.EvaluationContext;
import org.springframework.util.ClassUtils;

/** Checks the calls of {@link RateLimited} methods. A lease lasts until the method ends, or the future that it gives. */
final class MethodLimiter implements MethodInterceptor {
  private static final boolean WEB = ClassUtils.isPresent("org.springframework.web.context.request.RequestContextHolder",
      MethodLimiter.class.getClassLoader()) && ClassUtils.isPresent("jakarta.servlet.http.HttpServletRequest", MethodLimiter.class.getClassLoader());

  private final ObjectProvider<Sluice> sluice; // looked up late: an advisor is made before other beans
  private final ObjectProvider<SluiceProperties> properties;
  private final Expressions expressions;
  private final String application;

  MethodLimiter(ObjectProvider<Sluice> sluice, ObjectProvider<SluiceProperties> properties, Expressions expressions, String application) {
    this.sluice = sluice;
    this.properties = properties;
    this.expressions = expressions;
    this.application = application;
  }

  @Override
  public Object invoke(MethodInvocation call) throws Throwable {
    Object target = call.getThis();
    Class<?> type = target == null ? call.getMethod().getDeclaringClass() : AopUtils.getTargetClass(target);
    RateLimited rule = RateLimitedMethods.rule(call.getMethod(), type);
    if (rule == null || rule.exempt()) {
      return call.proceed();
    }
    Method method = AopUtils.getMostSpecificMethod(call.getMethod(), type);
    String resource = rule.resource().isEmpty() ? type.getSimpleName() + "." + method.getName() : rule.resource();
    Lease lease = admit(check(rule, resource, target, method, call.getArguments()), resource);
    boolean goesOn = false;
    try {
      Object result = call.proceed();
      if (result instanceof CompletionStage<?> stage) {
        goesOn = true;
        stage.whenComplete((value, failure) -> lease.close());
      }
      return result;
    } finally {
      if (!goesOn) {
        lease.close();
      }
    }
  }

  private Check check(RateLimited rule, String resource, Object target, Method method, Object[] arguments) {
    EvaluationContext context = expressions.ofCall(target, method, arguments, WEB ? CurrentRequest.get() : null);
    String key = rule.key().isEmpty() ? "" : Objects.requireNonNullElse(expressions.text(rule.key(), context), "");
    String address = key.isEmpty() && WEB ? CurrentRequest.subject() : null;
    String subject = !key.isEmpty() ? key : address != null ? address : "app:" + application;
    Check.Builder check = Check.builder().resource(WebLimiter.fit(resource)).subject(WebLimiter.fit(subject))
        .cost(expressions.number(rule.cost(), context));
    if (!rule.planId().isEmpty()) {
      check.planId(rule.planId());
    }
    return check.build();
  }

  private Lease admit(Check check, String resource) throws InterruptedException {
    Lease lease;
    try {
      lease = sluice.getObject().lease(check, true);
    } catch (SluiceException error) { // the mode raise
      throw new RateLimitedException(resource, Decision.ofError(error, false));
    }
    Decision decision = lease.decision();
    Duration longest = properties.getObject().web().maxDelay();
    if (!decision.allowed() || decision.delay().compareTo(longest) > 0) {
      lease.close();
      throw new RateLimitedException(resource, decision);
    }
    try {
      Thread.sleep(decision.delay().toMillis());
    } catch (InterruptedException interrupted) {
      lease.close();
      throw interrupted;
    }
    return lease;
  }
}
